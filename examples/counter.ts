/**
 * A counter: about the smallest actor that is of any use.
 *
 * Its sum is a variable that nobody else can reach. Others tell it to add and ask it for the sum, and
 * each of these waits its turn, so no two of them ever meet in the middle of an addition.
 */
import { ask, createSystem, receive, setup, type Behavior, type Ref } from '../src/kernel/index.ts'
import { assert, unreachable } from '../src/std/index.ts'

export const title = 'A counter: state that one actor owns'

export type CounterMessage =
  | Readonly<{ type: 'add'; amount: number }>
  | Readonly<{ type: 'read'; replyTo: Ref<number> }>

/** The sum is made inside `setup`, so that every counter has its own and a restart begins at 0. */
export function counter(): Behavior<CounterMessage> {
  return setup(() => {
    let sum = 0
    return receive((_ctx, message) => {
      switch (message.type) {
        case 'add':
          sum += message.amount
          return 'same'
        case 'read':
          message.replyTo.tell(sum)
          return 'same'
        default:
          return unreachable(message)
      }
    })
  })
}

export async function show(print: (line: string) => void): Promise<void> {
  await using system = createSystem()
  const visits = system.spawn('visits', counter())

  for (let amount = 1; amount <= 100; amount++) visits.tell({ type: 'add', amount })
  // The question was told last, so it is answered after everything that was told before.
  const sum = await ask<CounterMessage, number>(visits, (replyTo) => ({ type: 'read', replyTo }))
  print(`told ${visits.path} to add 1, 2, … 100, then asked: ${sum}`)

  visits.stop()
  const refusal = visits.tell({ type: 'add', amount: 1 })
  print(
    `told it once more after its end: ${refusal?.code}, ${system.deadLetters.length} dead letter`,
  )

  assert(sum === 5_050, 'everything told before the question was counted')
  assert(refusal?.code === 'actor-stopped', 'a stopped actor refuses, and says so')
}
