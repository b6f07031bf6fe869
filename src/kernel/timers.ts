/** Keyed timers of one actor. They end with its life: a restart begins with none. */
export interface Timers<M> {
  /** Tells me `message` once, `ms` from now. Replaces what runs under `key`, also if it is queued already. */
  after(key: string, ms: number, message: M): void
  /** Tells me `message` every `ms`. A telling that still waits is not repeated. */
  every(key: string, ms: number, message: M): void
  /** After this, nothing of `key` arrives, even if it has expired and waits in the mailbox. */
  cancel(key: string): void
  isActive(key: string): boolean
}
