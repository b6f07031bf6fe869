/**
 * A kettle, which the three tests beside it test, each in another runner.
 *
 *   cold --switch-on--> heating --boiled--> hot
 *     '<---switch-off------'
 */
import { machine, stay, to, type Behavior, type Ref } from '../../src/kernel/index.ts'

export type KettleState = 'cold' | 'heating' | 'hot'

export type KettleMessage = Readonly<{ type: 'switch-on' | 'switch-off' | 'boiled' }>

export type KettleNews = Readonly<{ type: 'heats' } | { type: 'boils'; cups: number }>

type KettleData = Readonly<{ cups: number }>

export const BOILING_MS = 180_000

export function kettle(cups: number, kitchen: Ref<KettleNews>): Behavior<KettleMessage> {
  return machine<KettleState, KettleData, KettleMessage>({
    initial: 'cold',
    data: { cups },
    states: {
      cold: {
        enter(ctx, data) {
          ctx.timers.cancel('boiled')
          return stay(data)
        },
        on: (_ctx, data, { type }) => (type === 'switch-on' ? to('heating', data) : stay(data)),
      },
      heating: {
        enter(ctx, data) {
          kitchen.tell({ type: 'heats' })
          ctx.timers.after('boiled', BOILING_MS, { type: 'boiled' })
          return stay(data)
        },
        on(_ctx, data, { type }) {
          if (type === 'boiled') return to('hot', data)
          return type === 'switch-off' ? to('cold', data) : stay(data)
        },
      },
      hot: {
        enter(_ctx, data) {
          kitchen.tell({ type: 'boils', cups: data.cups })
          return stay(data)
        },
        on: (_ctx, data) => stay(data),
      },
    },
  })
}
