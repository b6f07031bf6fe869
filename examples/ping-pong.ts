/**
 * Two players and a ball.
 *
 * A message may carry refs, so an actor answers whoever told it something without knowing more about
 * them. Each player watches the other: an end arrives as a message of the watcher's own kind.
 */
import { createSystem, receive, type Behavior, type Ended, type Ref } from '../src/kernel/index.ts'
import { assert, unreachable } from '../src/std/index.ts'

export const title = 'Ping-pong: actors that answer and watch each other'

const HITS = 100_000

export type PlayerMessage =
  | Readonly<{ type: 'serve'; partner: Ref<PlayerMessage> }>
  | Readonly<{ type: 'ball'; hits: number; from: Ref<PlayerMessage> }>
  | Readonly<{ type: 'partner-left'; ended: Ended }>

/** Plays until the ball has been hit `HITS` times, or until it stands at the table alone. */
export function player(print: (line: string) => void): Behavior<PlayerMessage> {
  return receive((ctx, message) => {
    switch (message.type) {
      case 'serve':
        message.partner.tell({ type: 'ball', hits: 1, from: ctx.self })
        return 'same'
      case 'ball':
        if (message.hits <= 2) ctx.watch(message.from, (ended) => ({ type: 'partner-left', ended }))
        if (message.hits === HITS) return 'stopped'
        message.from.tell({ type: 'ball', hits: message.hits + 1, from: ctx.self })
        return 'same'
      case 'partner-left':
        print(`${ctx.path} learns that ${message.ended.path} ended: ${message.ended.cause}`)
        return 'stopped'
      default:
        return unreachable(message)
    }
  })
}

export async function show(print: (line: string) => void): Promise<void> {
  await using system = createSystem()
  const ping = system.spawn('ping', player(print))
  const pong = system.spawn('pong', player(print))

  const startMs = system.clock.monotonic()
  ping.tell({ type: 'serve', partner: pong })
  const ends = await Promise.all([ping.ended, pong.ended])
  print(`${HITS} hits in ${Math.round(system.clock.monotonic() - startMs)} ms, one turn each`)

  assert(
    ends.every(({ cause }) => cause === 'stopped'),
    'both left of their own accord',
  )
  assert(system.deadLetters.length === 0, 'no ball was lost')
}
