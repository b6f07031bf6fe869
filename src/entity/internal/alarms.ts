/**
 * The alarm clock: wakes entities when their records say so.
 *
 * The earliest records are in memory, up to a horizon; what is due later is read when its time comes
 * near. Time here is steady wall time: an alarm is neither early nor late because somebody set a clock.
 */
import type { RecordWrite, StoredRecord } from '../../journal/index.ts'
import { TimerEntry } from '../../std/index.ts'
import { afterAllDueBy, ALARMS, dueOfKey } from './batch.ts'
import { keyOf } from './codec.ts'
import type { Core } from './core.ts'
import { pauseAfter } from './failing.ts'
import { reasonOf } from './faults.ts'
import type { Kind } from './kind.ts'
import { Request } from './request.ts'
import { send } from './routing.ts'

/** Alarms that are read at once. */
const PAGE = 1_000
/** Alarms that are in memory; beyond it the later half is left on record. */
export const ALARMS_ARMED_MAX = 10_000
/** How long before it is needed the next page is read. */
const LEAD_MS = 5_000

class Alarm extends TimerEntry {
  readonly key: string
  readonly kind: Kind
  readonly id: string
  failures = 0

  constructor(key: string, kind: Kind, id: string, fire: (alarm: Alarm) => void) {
    super(() => fire(this))
    this.key = key
    this.kind = kind
    this.id = id
  }
}

export class Alarms {
  readonly #core: Core
  readonly #armed = new Map<string, Alarm>()
  /** The last key that was read; undefined where nothing is left unread. */
  #cursor: string | undefined = ''
  /** What is due by then is in memory. */
  #horizon = -1
  readonly #nearing: TimerEntry
  #isReading = false
  /** What is being read may have been written since. */
  #isStale = false
  #isStopped = false
  #failures = 0

  constructor(core: Core) {
    this.#core = core
    this.#nearing = new TimerEntry(() => this.#readOnIfNear())
  }

  /** There may be records that nobody has said anything of. */
  lookAgain(): void {
    this.#cursor = ''
    this.#isStale = this.#isReading
    void this.#readOn()
  }

  stop(): void {
    this.#isStopped = true
    this.#core.timers.cancel(this.#nearing)
    for (const alarm of this.#armed.values()) this.#core.timers.cancel(alarm)
    this.#armed.clear()
  }

  /** What a batch wrote that has been committed. */
  recorded(writes: readonly RecordWrite[]): void {
    for (const write of writes) {
      if ('deleted' in write) this.#disarm(write.key)
      else if (this.#isWithin(write.key)) this.#arm(write.key, write.value)
    }
  }

  /** What is being read may be from before a record was written. */
  #isWithin(key: string): boolean {
    return this.#isReading || this.#cursor === undefined || dueOfKey(key) <= this.#horizon
  }

  #arm(key: string, stream: string): void {
    if (this.#isStopped || this.#armed.has(key)) return
    const name = keyOf(stream)
    const kind = name === undefined ? undefined : this.#core.kinds.get(name.type)
    if (name === undefined || kind === undefined) return // looked for again when it is known
    const alarm = new Alarm(key, kind, name.id, this.#fire)
    this.#armed.set(key, alarm)
    this.#set(alarm)
    if (this.#armed.size > ALARMS_ARMED_MAX) this.#drawIn()
  }

  #disarm(key: string): void {
    const alarm = this.#armed.get(key)
    if (alarm === undefined) return
    this.#armed.delete(key)
    this.#core.timers.cancel(alarm)
    this.#readOnIfNear()
  }

  #set(alarm: Alarm): void {
    this.#core.timers.set(alarm, this.#msUntil(dueOfKey(alarm.key)))
  }

  #msUntil(at: number): number {
    const { steady, clock } = this.#core
    return steady.monotonicAt(at) - clock.monotonic()
  }

  /** Too many are armed: the later half stays on record, as far as they are not all due at once. */
  #drawIn(): void {
    const dues = [...this.#armed.keys()].map(dueOfKey).toSorted((a, b) => a - b)
    this.#horizon = dues[dues.length >> 1]!
    this.#cursor = afterAllDueBy(this.#horizon)
    for (const [key, alarm] of this.#armed) {
      if (dueOfKey(key) <= this.#horizon) continue
      this.#core.timers.cancel(alarm)
      this.#armed.delete(key)
    }
    this.#core.timers.set(this.#nearing, this.#msUntil(this.#horizon - LEAD_MS))
  }

  readonly #fire = (alarm: Alarm): void => {
    const core = this.#core
    const { key, kind, id } = alarm
    if (core.steady.now() < dueOfKey(key)) {
      this.#set(alarm)
      return
    }
    const retry = (): void => {
      if (this.#isStopped || this.#armed.get(key) !== alarm) return
      core.timers.set(alarm, pauseAfter(++alarm.failures))
    }
    // It stays in the list until its record is gone.
    send(core, new Request(kind, id, undefined, {}, () => undefined, retry, key))
  }

  #readOnIfNear(): void {
    if (this.#cursor === undefined || this.#armed.size > ALARMS_ARMED_MAX - PAGE) return
    if (this.#core.steady.now() >= this.#horizon - LEAD_MS) void this.#readOn()
  }

  async #readOn(): Promise<void> {
    const { journal, timers, log } = this.#core
    const after = this.#cursor
    if (this.#isReading || this.#isStopped || after === undefined) return
    this.#isReading = true
    try {
      const from = after === '' ? {} : { after }
      const page = await journal.readRecords(ALARMS, '', { limit: PAGE, ...from })
      this.#failures = 0
      if (this.#cursor === after && !this.#isStale) this.#advance(page)
      for (const { key, value } of page) this.#arm(key, value)
    } catch (error) {
      log.warn('alarms could not be read', reasonOf(error))
      timers.after(pauseAfter(++this.#failures), () => void this.#readOn())
    } finally {
      this.#isReading = false
    }
    if (this.#isStale) this.lookAgain()
  }

  #advance(page: readonly StoredRecord[]): void {
    const last = page.at(-1)
    if (page.length < PAGE || last === undefined) {
      this.#cursor = undefined
      return
    }
    this.#cursor = last.key
    this.#horizon = dueOfKey(last.key)
    this.#core.timers.set(this.#nearing, this.#msUntil(this.#horizon - LEAD_MS))
  }
}
