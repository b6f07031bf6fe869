/**
 * The entities of the model test: a vault with everything a definition may have, and an audit that is
 * told by it.
 *
 * Every command has a tag that is in all of its events, so that a history says which command did what,
 * request id or not. The trail in the state depends on the order of all events, and every reply has it:
 * a decision on another state than that of its place in history shows in its answer.
 */
import {
  accept,
  answer,
  entity,
  leg,
  message,
  postpone,
  type Decision,
  type EntityDefinition,
} from '../../../src/entity/index.ts'

export type Hold = Readonly<{ tag: string; quantity: number; until: number }>

export type Vault = Readonly<{
  quantity: number
  /** Sold without having been there. */
  pending: number
  holds: readonly Hold[]
  trail: number
}>

export type VaultEvent = Readonly<{ tag: string; quantity: number; happenedAt: number }> &
  (
    | Readonly<{ type: 'delivered' | 'sold' | 'counted' | 'expired' }>
    | Readonly<{ type: 'held'; until: number }>
    | Readonly<{ type: 'moved-out'; to: string }>
    | Readonly<{ type: 'moved-in'; from: string }>
  )

export type VaultCommand =
  | Readonly<{
      type: 'deliver' | 'sell' | 'count'
      tag: string
      quantity: number
      happenedAt?: number
    }>
  | Readonly<{ type: 'hold'; tag: string; quantity: number; until: number }>
  /** Waits for enough until then, if it may. */
  | Readonly<{ type: 'move'; tag: string; quantity: number; to: string; patientUntil: number }>
  /** Happens without an event, or cannot happen: the last leads to a state that `alarm` makes nonsense of. */
  | Readonly<{ type: 'agree' | 'look' | 'throw' | 'trap'; tag: string }>
  | Readonly<{ type: 'expire'; tag: string }>

export type VaultReply = Readonly<{ tag: string; taken: boolean; quantity: number; trail: number }>

export type VaultDefinition = EntityDefinition<Vault, VaultCommand, VaultEvent, VaultReply>

export const vault: VaultDefinition = entity({
  type: 'vault',
  version: 1,
  initial: (): Vault => ({ quantity: 0, pending: 0, holds: [], trail: 1 }),
  decide: decideVault,
  evolve: evolveVault,
  effectiveAt: ({ happenedAt }: VaultEvent) => happenedAt,
  alarm({ holds }) {
    const at = Math.min(...holds.map(({ until }) => until))
    return at === Infinity ? undefined : { at, command: { type: 'expire', tag: 'expire' } }
  },
  react: ({ type, tag, quantity }) =>
    isReported({ type, quantity }) ? [message(audit, 'all', { tag })] : [],
  snapshots: { every: 5, keep: 3 },
})

/** Whether the audit is told of an event. */
export function isReported({
  type,
  quantity,
}: Readonly<{ type: string; quantity: number }>): boolean {
  return type === 'delivered' && quantity % 3 === 0
}

export function decideVault(
  state: Vault,
  command: VaultCommand,
  at: number,
): Decision<VaultEvent, VaultReply> {
  const { quantity: stock, trail, holds } = state
  const { tag } = command
  const reply: VaultReply = { tag, taken: true, quantity: stock, trail }
  const not: VaultReply = { ...reply, taken: false }
  switch (command.type) {
    case 'deliver':
    case 'sell':
    case 'count': {
      const { quantity, happenedAt = at } = command
      const type = ({ deliver: 'delivered', sell: 'sold', count: 'counted' } as const)[command.type]
      return accept<VaultEvent, VaultReply>([{ type, tag, quantity, happenedAt }], reply)
    }
    case 'hold': {
      const { quantity, until } = command
      if (stock < quantity) return answer(not)
      // In two events, since a command may have several.
      const first = Math.floor(quantity / 2)
      const held = { type: 'held', tag, until, happenedAt: at } as const
      const events: VaultEvent[] = [
        { ...held, quantity: first },
        { ...held, quantity: quantity - first },
      ]
      return accept(events, reply)
    }
    case 'move': {
      const { quantity, to, patientUntil } = command
      if (stock < quantity) return at < patientUntil ? postpone(patientUntil) : answer(not)
      const out: VaultEvent = { type: 'moved-out', tag, quantity, happenedAt: at, to }
      const into: VaultEvent = { type: 'moved-in', tag, quantity, happenedAt: at, from: 'there' }
      return accept([out], reply, [leg(vault, to, [into])])
    }
    case 'agree':
      return accept<VaultEvent, VaultReply>([], reply)
    case 'look':
      return answer(reply)
    case 'throw':
      throw new Error(`${tag} is to throw`)
    case 'trap': {
      const trap: VaultEvent = { type: 'held', tag, quantity: 0, until: 0.5, happenedAt: at }
      return accept([trap], reply)
    }
    case 'expire': {
      const over = holds.filter(({ until }) => until <= at)
      const events = over.map((hold): VaultEvent => ({
        type: 'expired',
        tag: hold.tag,
        quantity: hold.quantity,
        happenedAt: at,
      }))
      return accept(events, reply)
    }
  }
}

export function evolveVault(state: Vault, event: VaultEvent): Vault {
  const { type, tag, quantity, happenedAt } = event
  const { quantity: stock, pending, holds } = state
  const trail =
    (state.trail * 31 + hashOf(`${type} ${tag} ${quantity} ${happenedAt}`)) % 1_000_000_007
  switch (type) {
    case 'delivered':
    case 'moved-in':
      return { ...state, quantity: stock + quantity, trail }
    case 'sold':
    case 'moved-out': {
      const met = Math.min(stock, quantity)
      return { ...state, quantity: stock - met, pending: pending - (quantity - met), trail }
    }
    case 'counted':
      return { ...state, quantity, trail }
    case 'held': {
      const met = Math.min(stock, quantity)
      const hold = { tag, quantity, until: event.until }
      const short = pending - (quantity - met)
      return { quantity: stock - met, pending: short, holds: [...holds, hold], trail }
    }
    case 'expired': {
      const at = holds.findIndex((hold) => hold.tag === tag && hold.quantity === quantity)
      if (at < 0) return { ...state, trail }
      return { ...state, quantity: stock + quantity, holds: holds.toSpliced(at, 1), trail }
    }
  }
}

function hashOf(text: string): number {
  let hash = 7
  for (let n = 0; n < text.length; n++) hash = (hash * 31 + text.charCodeAt(n)) % 1_000_003
  return hash
}

export type Audit = readonly string[]
export type Noted = Readonly<{ type: 'noted'; tag: string }>
export type AuditDefinition = EntityDefinition<Audit, Readonly<{ tag: string }>, Noted, number>

/** What it was told of, in the order in which it was told. */
export const audit: AuditDefinition = entity({
  type: 'audit',
  version: 1,
  initial: (): Audit => [],
  decide: (told: Audit, { tag }: Readonly<{ tag: string }>) =>
    accept<Noted, number>([{ type: 'noted', tag }], told.length + 1),
  evolve: (told: Audit, { tag }: Noted): Audit => [...told, tag],
  snapshots: { every: 4 },
})
