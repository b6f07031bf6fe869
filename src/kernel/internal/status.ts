/**
 * The status word of a cell.
 *
 * Zero means: nothing special, every message may take the express lane. Any bit
 * set sends tells and turns down the slow path, where the bits say why. The top
 * bits count active suspend tokens, so that reasons nest.
 */
/** Mail waits in the mailbox; nothing may overtake it on the express lane. */
export const BOXED = 1
/** Spawned during a turn and not told anything yet. */
export const NEWBORN = 2
/** A newborn with its first message, on the stack of parked cells. */
export const PARKED = 4
/** Never on the express lane: what arrives is weighed, ordered or noticed first. */
export const BOX_ONLY = 8
/** A schema stands at the door. */
export const DOOR = 16
/** System work is pending: the cell is run even while halted, for that alone. */
export const SYSTEM = 32
/** An async handler has not settled yet. */
export const AWAIT = 64
/** Children are being stopped for a restart. */
export const RESTARTING = 128
export const STOPPING = 256
export const STOPPED = 512
/** Where the suspend counter begins, and one unit of it. */
export const SUSPEND_SHIFT = 10
export const SUSPEND: number = 1 << SUSPEND_SHIFT

export const SUSPENDED: number = ~(SUSPEND - 1)
/** User messages stay where they are. */
export const HALTED: number = AWAIT | RESTARTING | STOPPING | STOPPED | SUSPENDED
/** A batch ends after the message that set one of these. */
export const BREAK: number = SYSTEM | HALTED
export const ENDING: number = STOPPING | STOPPED
