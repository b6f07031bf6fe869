/**
 * The process under test: a broker over SQLite with producers and consumers, which is killed at any moment.
 *
 * It says what it finds and what it does on descriptor 3, a line each and written at once, so that nothing said is
 * lost with it: `s`, `d` and `n` before it asks for a send, a delete or a nack, the capital when that was
 * acknowledged, `r` when a message was handed out. It ends in order on SIGTERM, and when nobody listens any more.
 */
import { writeSync } from 'node:fs'

import { createBroker, type Broker, type QueueName } from '../../src/broker/index.ts'
import { sqliteJournal } from '../../src/journal/index.ts'
import { createSystem } from '../../src/kernel/index.ts'
import { isFault, random, type Random } from '../../src/std/index.ts'

const MAIN: QueueName = { account: '1', region: 'r', name: 'main' }
const DEAD: QueueName = { ...MAIN, name: 'dead' }
const PRODUCERS = 3
const CONSUMERS = 3
/** As many as wait at most, so that what is found at each start stays little. */
const WAITING_MAX = 2_000

const [directory, seed, first] = process.argv.slice(2)
const dice = random(Number(seed))
let next = Number(first)
const state = { isEnding: false }

const journal = await sqliteJournal({ directory: directory! })
const system = createSystem({ name: 'child' })
const broker = await createBroker({ system, journal })
await broker.create(MAIN, { maxReceives: 3, deadLetterQueue: 'dead', visibilityMs: 300 })
await broker.create(DEAD, { maxReceives: Infinity })

process.stdin.on('close', () => process.exit()).resume()
process.once('SIGTERM', () => {
  state.isEnding = true
})
say(`content ${await contentAtRest()}`)
const work = [
  ...Array.from({ length: PRODUCERS }, () => produce(dice.fork())),
  ...Array.from({ length: CONSUMERS }, () => consume(dice.fork())),
]
await Promise.all(work)
await broker.close()
await journal.close()
await system.stop()
process.exit(0)

/** Messages die while one looks: what is the same twice is what is there. */
async function contentAtRest(): Promise<string> {
  for (let before = ''; ;) {
    const now = `${(await contentOf(MAIN)).join(' ')} | ${(await contentOf(DEAD)).join(' ')}`
    if (now === before) return now
    before = now
  }
}

async function contentOf(name: QueueName): Promise<readonly string[]> {
  const tags: string[] = []
  for (let after: number | undefined; ;) {
    const page = await broker.browse(name, {
      limit: 1_000,
      ...(after !== undefined && { after }),
    })
    if (!page.ok) throw new Error(page.message)
    tags.push(...page.messages.map(({ body }) => tagOf(body)))
    if (page.next === undefined) return tags
    after = page.next
  }
}

async function produce(own: Random): Promise<void> {
  while (!state.isEnding) {
    const tags = Array.from({ length: 1 + own.below(10) }, () => `${next++}`)
    say(`s ${tags.join(' ')}`)
    const padding = '.'.repeat(own.below(400))
    const answers = await broker.send(
      MAIN,
      tags.map((tag) => ({ body: `${tag} ${padding}`, priority: own.below(3) })),
    )
    say(`S ${tags.filter((_, index) => answers[index]!.ok).join(' ')}`)
    const { sent, deleted, purged } = broker.metrics()
    if (sent - deleted - purged > WAITING_MAX) await drain(own)
  }
}

async function consume(own: Random): Promise<void> {
  while (!state.isEnding) await takeSome(broker, own, own.below(10) === 0 ? DEAD : MAIN)
}

async function drain(own: Random): Promise<void> {
  for (let n = 0; n < 50; n++) await takeSome(broker, own, MAIN)
}

async function takeSome(from: Broker, own: Random, name: QueueName): Promise<void> {
  const got = await from.receive(name, { max: 10, waitMs: 20 })
  if (isFault(got)) return
  if (got.length > 0) say(`r ${got.map(({ body }) => tagOf(body)).join(' ')}`)
  const done = got.filter(() => own.below(10) < 8)
  const failed = got.filter((one) => !done.includes(one) && own.below(4) > 0)
  const said = (some: typeof got): string => some.map(({ body }) => tagOf(body)).join(' ')
  if (done.length > 0) {
    say(`d ${said(done)}`)
    const answers = await from.settle(
      name,
      done.map(({ receipt }) => ({ type: 'delete', receipt })),
    )
    const gone = done.filter((_, index) => {
      const answer = answers[index]!
      return answer.ok && answer.effective
    })
    say(`D ${said(gone)}`)
  }
  if (failed.length > 0)
    await from.settle(
      name,
      failed.map(({ receipt }) => ({ type: 'nack', receipt, reason: 'no' })),
    )
}

function tagOf(body: string): string {
  return body.slice(0, body.indexOf(' '))
}

function say(text: string): void {
  const bytes = Buffer.from(`${text}\n`)
  for (let done = 0; done < bytes.length;) done += writeSync(3, bytes, done)
}
