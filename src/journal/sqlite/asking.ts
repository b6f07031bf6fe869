/** Reads on their way to the filer and back. Each is answered or refused, once. */
import { Accident, fault, type Fault } from '../../std/index.ts'
import type { Snapshot, StoredAnswer, StoredEvent, StoredRecord, StreamHead } from '../journal.ts'
import type { Read, ToFiler } from './wire.ts'

/** Reads that may wait for their answer; one more is refused with `journal-overloaded`. */
export const READS_PENDING_MAX = 65_536

type Question = Read | Readonly<{ type: 'settle' }>

type Answers = {
  position: number
  version: number
  stream: readonly StoredEvent[]
  all: readonly StoredEvent[]
  streams: readonly StreamHead[]
  records: readonly StoredRecord[]
  get: readonly StoredRecord[]
  lookup: StoredAnswer | undefined
  snapshots: readonly Snapshot[]
  settle: undefined
}

type Waiting = Readonly<{ resolve: (value: unknown) => void; reject: (why: Accident) => void }>

export class Asking {
  readonly #post: (message: ToFiler) => void
  readonly #waiting = new Map<number, Waiting>()
  #id = 0

  constructor(send: (message: ToFiler) => void) {
    this.#post = send
  }

  get pending(): number {
    return this.#waiting.size
  }

  ask<Q extends Question>(question: Q): Promise<Answers[Q['type']]> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= READS_PENDING_MAX) {
        reject(overloaded(this.#waiting.size))
        return
      }
      const id = ++this.#id
      this.#waiting.set(id, {
        resolve: (value) => {
          if (isAnswerTo(question, value)) resolve(value)
        },
        reject,
      })
      this.#post(
        question.type === 'settle' ? { type: 'settle', id } : { type: 'read', id, read: question },
      )
    })
  }

  answer(id: number, value: unknown): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    waiting?.resolve(value)
  }

  refuse(id: number, why: Fault): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    waiting?.reject(new Accident(why))
  }

  refuseAll(why: () => Accident): void {
    for (const { reject } of this.#waiting.values()) reject(why())
    this.#waiting.clear()
  }
}

/** The filer answers what it was asked; nobody else speaks through its port. */
function isAnswerTo<Q extends Question>(_: Q, value: unknown): value is Answers[Q['type']] {
  return value !== null
}

function overloaded(pending: number): Accident<'journal-overloaded'> {
  return new Accident(
    fault('journal-overloaded', 'too many reads wait for their answer', {
      pending,
      remedy: 'read again when some of them have been answered',
    }),
  )
}
