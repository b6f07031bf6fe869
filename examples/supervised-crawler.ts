/**
 * A crawler whose readers may fail.
 *
 * Each page is read by a child. One that fails is restarted after a pause that doubles; one that fails
 * too often stops, and the crawler, who watches it, is told why. The crawler itself has no code for
 * failures but one case of its protocol. How a page is read is handed in as a factory, so a test can
 * hand in another.
 */
import {
  receive,
  restart,
  setup,
  type Behavior,
  type ChildFactory,
  type Ended,
  type Ref,
} from '../src/kernel/index.ts'
import { assert, unreachable } from '../src/std/index.ts'
import { world } from '../src/testkit/index.ts'

export const title = 'A supervised crawler: failures have one place'

export type CrawlerMessage =
  | Readonly<{ type: 'visit'; page: string }>
  | Readonly<{ type: 'read'; page: string; links: readonly string[] }>
  | Readonly<{ type: 'reader-ended'; page: string; ended: Ended }>

export type Report = Readonly<{
  read: readonly string[]
  lost: readonly Readonly<{ page: string; cause: Ended['cause']; error: string }>[]
}>

type Reader<M> = ChildFactory<[page: string, replyTo: Ref<CrawlerMessage>], M>

const RESTARTS = 3

export function crawler<M>(reader: Reader<M>, replyTo: Ref<Report>): Behavior<CrawlerMessage> {
  return setup(() => {
    const seen = new Set<string>()
    const read: string[] = []
    const lost: Report['lost'][number][] = []

    return receive((ctx, message) => {
      const { page } = message
      switch (message.type) {
        case 'visit': {
          if (seen.has(page)) return 'same'
          seen.add(page)
          const child = ctx.spawn(page, reader(page, ctx.self), {
            supervision: restart({ max: RESTARTS, backoff: { minMs: 100, jitter: 0 } }),
          })
          ctx.watch(child, (ended) => ({ type: 'reader-ended', page, ended }))
          return 'same'
        }
        case 'read':
          read.push(page)
          for (const link of message.links) ctx.self.tell({ type: 'visit', page: link })
          return 'same'
        case 'reader-ended': {
          const { cause, error } = message.ended
          if (cause !== 'stopped') lost.push({ page, cause, error: String(error) })
          if (read.length + lost.length === seen.size) replyTo.tell({ read, lost })
          return 'same'
        }
        default:
          return unreachable(message)
      }
    })
  })
}

type Download = (page: string) => Promise<readonly string[]>

/** Reads one page and stops. `setup` runs again after every restart, and with it the first try. */
export function pageReader(download: Download): Reader<'try'> {
  return (page, replyTo) =>
    setup((ctx) => {
      ctx.self.tell('try')
      return receive(async () => {
        replyTo.tell({ type: 'read', page, links: await download(page) })
        return 'stopped' as const
      })
    })
}

/** A small web: `news` answers at the third attempt, `archive` never does. */
function smallWeb(): Download {
  const links = new Map([
    ['home', ['news', 'archive', 'about']],
    ['news', ['home', 'about']],
    ['about', []],
  ])
  let attempts = 0
  return async (page) => {
    if (page === 'news' && ++attempts < 3) throw new Error('503 try again later')
    const found = links.get(page)
    if (found === undefined) throw new Error('500 internal server error')
    return found
  }
}

export async function show(print: (line: string) => void): Promise<void> {
  await using net = world()
  const reports = net.inbox<Report>('reports')
  const spider = net.system.spawn('spider', crawler(pageReader(smallWeb()), reports))

  spider.tell({ type: 'visit', page: 'home' })
  const { read, lost } = await reports.take({ withinMs: 10_000 })

  for (const page of ['news', 'archive']) {
    const path = `/spider/${page}`
    const failures = net.trace.filter(({ actor, type }) => actor === path && type === 'failed')
    print(`${path} failed at ${failures.map(({ at }) => at).join(', ')} ms`)
  }
  print(`read: ${read.toSorted().join(', ')}`)
  for (const { page, cause, error } of lost) print(`lost: ${page}, ${cause}, ${error}`)

  assert(read.toSorted().join() === 'about,home,news', 'what failed at first was read in the end')
  assert(lost.length === 1 && lost[0]?.cause === 'restart-limit', 'the watcher learns the cause')
}
