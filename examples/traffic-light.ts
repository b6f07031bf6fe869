/**
 * A traffic light with a button, as a state machine.
 *
 *   red --elapsed--> green --elapsed--> amber --elapsed--> red
 *                      '---- pressed: amber comes sooner
 *
 * A handler only chooses the next state. What a state does on arrival stands in its `enter`, which
 * the kernel runs as the very next turn, ahead of whatever waits in the mailbox.
 */
import { machine, stay, to, type Behavior } from '../src/kernel/index.ts'
import { assert } from '../src/std/index.ts'
import { world } from '../src/testkit/index.ts'

export const title = 'A traffic light: transitions, and what happens on arrival'

export type Light = 'red' | 'green' | 'amber'
export type LightMessage = Readonly<{ type: 'elapsed' }> | Readonly<{ type: 'pressed' }>
type Data = Readonly<{ presses: number }>

const GREEN_MS = 30_000
const PRESSED_MS = 5_000
const AMBER_MS = 3_000
const RED_MS = 20_000

export function trafficLight(): Behavior<LightMessage> {
  return machine<Light, Data, LightMessage>({
    initial: 'red',
    data: { presses: 0 },
    states: {
      red: {
        enter(ctx, data) {
          ctx.timers.after('phase', RED_MS, { type: 'elapsed' })
          return stay(data)
        },
        on: (_ctx, data, message) => (message.type === 'elapsed' ? to('green', data) : stay(data)),
      },
      green: {
        enter(ctx, data) {
          ctx.timers.after('phase', GREEN_MS, { type: 'elapsed' })
          return stay(data)
        },
        on(ctx, data, message) {
          if (message.type === 'elapsed') return to('amber', data)
          // The same key again: the longer timer is gone, even if it has just gone off.
          if (data.presses === 0) ctx.timers.after('phase', PRESSED_MS, { type: 'elapsed' })
          return stay({ presses: data.presses + 1 })
        },
      },
      amber: {
        enter(ctx) {
          ctx.timers.after('phase', AMBER_MS, { type: 'elapsed' })
          return stay({ presses: 0 })
        },
        on: (_ctx, data, message) => (message.type === 'elapsed' ? to('red', data) : stay(data)),
      },
    },
  })
}

/** On virtual time: a minute at the crossing takes a few milliseconds. */
export async function show(print: (line: string) => void): Promise<void> {
  await using street = world()
  const light = street.system.spawn('light', trafficLight())

  await street.advance(RED_MS + 10_000) // green for ten seconds
  light.tell({ type: 'pressed' })
  await street.advance(20_000)

  const steps = street.trace.filter(({ type }) => type === 'transition' || type === 'entered')
  for (const { at, type, facts } of steps) {
    const [from, next] = [String(facts['from']), String(facts['to'])]
    const what = type === 'entered' ? `enter ${String(facts['state'])}` : `${from} → ${next}`
    print(`at ${String(at / 1_000).padStart(2)} s  ${what}`)
  }

  const amber = steps.find(({ facts }) => facts['to'] === 'amber')
  assert(amber?.at === RED_MS + 10_000 + PRESSED_MS, 'the button brings amber sooner')
  for (const [n, { type, facts }] of steps.entries()) {
    const next = steps[n + 1]
    if (type === 'transition') assert(next?.facts['state'] === facts['to'], 'enter comes next')
  }
}
