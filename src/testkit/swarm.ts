/**
 * The options of a world, drawn from its seed.
 *
 * Swarm testing: not every fault in every run, but each run its own few. A run with all faults at
 * once hides what happens when one of them is alone. Orders and durations any program must bear are
 * always drawn; faults only those that the scenario says it bears.
 */
import { JOURNAL_TROUBLES } from './faulty-journal.ts'
import { ORDERS } from './order.ts'
import { DISK_FAULTS } from './simulated-disk.ts'
import { drawsOf, type WorldOptions } from './world.ts'

export type SwarmFault =
  /** Actors that are spawned without a bound get one of at most 8. */
  | 'small-mailboxes'
  /** The world's links lose, repeat or delay messages. */
  | 'lost-messages'
  | 'repeated-messages'
  | 'late-messages'
  /** The world's disks have faults of their own, and its journals troubles. */
  | 'bad-disks'
  | 'bad-journals'

export function swarm(seed: number, faults: readonly SwarmFault[]): WorldOptions {
  const { options: draws } = drawsOf(seed)
  const order = draws.pick(ORDERS)
  const turnMsMax = draws.pick([0, 0, 1, 10])
  // Drawn whether they are wanted or not: a fault more leaves the others as they were.
  const drawn = {
    'small-mailboxes': { bound: 1 + draws.below(8) },
    'lost-messages': { lossShare: draws.pick([0.01, 0.1, 0.3]) },
    'repeated-messages': { repeatShare: draws.pick([0.01, 0.1, 0.5]) },
    'late-messages': { delayMsMax: draws.pick([1, 20, 1_000]) },
    'bad-disks': { diskFaults: DISK_FAULTS },
    'bad-journals': { journalTroubles: JOURNAL_TROUBLES },
  } satisfies Record<SwarmFault, WorldOptions>
  let options: WorldOptions = { order, turnMsMax }
  for (const [fault, strength] of Object.entries(drawn)) {
    const strikes = draws.below(2) === 0
    if (strikes && faults.some((borne) => borne === fault)) options = { ...options, ...strength }
  }
  return options
}
