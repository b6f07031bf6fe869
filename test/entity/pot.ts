/**
 * A stock pot, as small as it can be with everything that makes a fold depend on its order: a sale of
 * what is not there is remembered as pending, and a count sets what is there.
 */
import { accept, entity, leg, type EntityDefinition } from '../../src/entity/index.ts'

export type PotEvent =
  | Readonly<{ type: 'delivered'; quantity: number; happenedAt: number }>
  | Readonly<{ type: 'sold'; quantity: number; happenedAt: number }>
  | Readonly<{ type: 'moved-in'; quantity: number; happenedAt: number; from: string }>
  | Readonly<{ type: 'moved-out'; quantity: number; happenedAt: number; to: string }>
  | Readonly<{ type: 'counted'; quantity: number; happenedAt: number }>

export type PotCommand =
  | Readonly<{ type: 'deliver' | 'sell' | 'count'; quantity: number; happenedAt: number }>
  | Readonly<{ type: 'move'; quantity: number; happenedAt: number; to: string }>

export type Pot = Readonly<{
  quantity: number
  pending: number
  /** When the last event in order of effect happened, so that a fold in another order shows. */
  lastAt: number | null
}>

export type PotReply = Readonly<{ taken: boolean; quantity: number }>

export type PotDefinition = EntityDefinition<Pot, PotCommand, PotEvent, PotReply>

export const pot: PotDefinition = entity({
  type: 'pot',
  version: 1,
  initial: (): Pot => ({ quantity: 0, pending: 0, lastAt: null }),
  decide(state: Pot, command: PotCommand) {
    const { quantity, happenedAt } = command
    const reply = { taken: true, quantity }
    switch (command.type) {
      case 'deliver':
        return accept<PotEvent, PotReply>([{ type: 'delivered', quantity, happenedAt }], reply)
      case 'sell':
        return accept<PotEvent, PotReply>([{ type: 'sold', quantity, happenedAt }], reply)
      case 'count':
        return accept<PotEvent, PotReply>([{ type: 'counted', quantity, happenedAt }], reply)
      case 'move': {
        if (state.quantity < quantity)
          return accept<PotEvent, PotReply>([], { ...reply, taken: false })
        const out: PotEvent = { type: 'moved-out', quantity, happenedAt, to: command.to }
        return accept<PotEvent, PotReply>([out], reply, [
          leg(pot, command.to, [{ type: 'moved-in', quantity, happenedAt, from: 'here' }]),
        ])
      }
    }
  },
  evolve: evolvePot,
  effectiveAt: ({ happenedAt }: PotEvent) => happenedAt,
})

export function evolvePot(state: Pot, event: PotEvent): Pot {
  const { quantity, happenedAt: lastAt } = event
  switch (event.type) {
    case 'delivered':
    case 'moved-in':
      return { ...state, quantity: state.quantity + quantity, lastAt }
    case 'sold':
    case 'moved-out': {
      const met = Math.min(state.quantity, quantity)
      return {
        quantity: state.quantity - met,
        pending: state.pending - (quantity - met),
        lastAt,
      }
    }
    case 'counted':
      return { ...state, quantity, lastAt }
  }
}
