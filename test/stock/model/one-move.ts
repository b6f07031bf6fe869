/**
 * One move, and one accident between any two turns of it.
 *
 * The move is made again and again, each time in a world of its own, and the accident comes one turn later
 * than the last time, until it comes after everything. Whatever the disk and the journal do takes turns of
 * its own, so there is nothing it cannot come between. The destination is in one of the phases of its life
 * when the move begins.
 */
import assert from 'node:assert/strict'

import { world, type World } from '../../../src/testkit/index.ts'
import type { Request } from './books.ts'
import { judge } from './judge.ts'
import { turns } from './play.ts'
import { Subject } from './subject.ts'
import type { Issued, Outcome, Sending } from './verdict.ts'

export const PHASES = ['absent', 'activating', 'ready', 'busy', 'passivating', 'failed'] as const
export type Phase = (typeof PHASES)[number]

export const ACCIDENTS = [
  'a crash',
  'its source put away',
  'its destination put away',
  'both put away',
  'the same request',
  'its id for another destination',
  'a late count at the source',
  'a late count at the destination',
] as const
export type Accident = (typeof ACCIDENTS)[number]

const PRODUCT = 'p'
const [SOURCE, DESTINATION, ELSEWHERE] = ['a', 'b', 'c'] as const
const PIECE = 1_000_000n
const REST_MS = 60_000
const TURNS_MAX = 200
const STEP_MS = 1

export async function moveDuring(
  phase: Phase,
  accident: Accident,
): Promise<Readonly<{ turns: number; effects: number }>> {
  let effects = 0
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const { isOver, wasMade } = await once(phase, accident, turn)
    if (wasMade) effects++
    if (isOver) return { turns: turn, effects }
  }
  throw new Error(`after ${TURNS_MAX} turns the move is still under way`)
}

async function once(
  phase: Phase,
  accident: Accident,
  turn: number,
): Promise<Readonly<{ isOver: boolean; wasMade: boolean }>> {
  const earth = world({ seed: turn, stepsMax: 1_000_000 })
  try {
    const scene = new Scene(earth)
    await scene.prepare(phase)
    const asked = scene.ask('move', { ...MOVE, at: earth.clock.now() })
    let isOver = false
    void asked.then(() => (isOver = true))
    await turns(earth, turn, REST_MS)
    const wasOver = isOver
    const wasMade = scene.subject.journal.stats().events > scene.before
    await scene.suffer(accident)
    await earth.advance(REST_MS)
    await scene.askAgain()
    const at = `${phase}, ${accident}, turn ${turn}`
    assert.deepEqual(await judge(earth, scene.subject, scene.issued), [], at)
    assert.deepEqual(earth.failures, [], at)
    return { isOver: wasOver, wasMade }
  } finally {
    await earth.stop()
  }
}

const MOVE = {
  type: 'move',
  location: SOURCE,
  to: DESTINATION,
  product: PRODUCT,
  quantity: 3n * PIECE,
} as const

class Scene {
  readonly subject: Subject
  readonly issued: Issued[] = []
  /** Events there were before the move. */
  before = 0
  readonly #world: World
  #moments = 0

  constructor(earth: World) {
    this.#world = earth
    this.subject = new Subject(earth, STEP_MS)
  }

  /** Both places have something, and the destination is what it is to be. */
  async prepare(phase: Phase): Promise<void> {
    await this.subject.start()
    const at = this.#world.clock.now()
    const lines = [{ product: PRODUCT, quantity: 10n * PIECE }]
    for (const location of [SOURCE, DESTINATION])
      await this.#world.until(
        this.ask(`first-${location}`, { type: 'delivery', at, location, lines }),
      )
    await this.#world.advance(10)
    this.before = this.subject.journal.stats().events
    await this.#enter(phase)
  }

  async #enter(phase: Phase): Promise<void> {
    const key = `${PRODUCT}|${DESTINATION}`
    const rest = (): Promise<unknown> => this.#world.until(this.subject.stock.passivate(key))
    switch (phase) {
      case 'ready':
        return
      case 'absent':
        await rest()
        return
      case 'activating':
        await rest()
        void this.#sell('early')
        return
      case 'busy':
        for (const n of [1, 2, 3]) void this.#sell(`early-${n}`)
        return
      case 'passivating':
        this.subject.passivate(PRODUCT, DESTINATION)
        return
      case 'failed':
        await rest()
        this.subject.unreadable = `stock-pot/${key}`
        await this.#world.until(this.#sell('early'))
        this.subject.unreadable = undefined
    }
  }

  #sell(requestId: string): Promise<Outcome> {
    const at = this.#world.clock.now()
    const line = { product: PRODUCT, quantity: PIECE }
    return this.ask(requestId, { type: 'sale', at, location: DESTINATION, ...line })
  }

  async suffer(accident: Accident): Promise<void> {
    const { subject } = this
    const at = this.#world.clock.now()
    const late = { type: 'count', at: at - 1, product: PRODUCT, quantity: PIECE } as const
    switch (accident) {
      case 'a crash':
        return subject.restart()
      case 'its source put away':
        return subject.passivate(PRODUCT, SOURCE)
      case 'its destination put away':
        return subject.passivate(PRODUCT, DESTINATION)
      case 'both put away':
        subject.passivate(PRODUCT, SOURCE)
        return subject.passivate(PRODUCT, DESTINATION)
      case 'the same request':
        return void this.#send(this.issued.find(({ requestId }) => requestId === 'move')!)
      case 'its id for another destination':
        return void this.ask('move', { ...MOVE, at, to: ELSEWHERE })
      case 'a late count at the source':
        return void this.ask('late', { ...late, location: SOURCE })
      case 'a late count at the destination':
        return void this.ask('late', { ...late, location: DESTINATION })
    }
  }

  ask(requestId: string, request: Request): Promise<Outcome> {
    const issued: Issued = { requestId, request, sendings: [] }
    this.issued.push(issued)
    return this.#send(issued)
  }

  /** Whoever was not told asks again; after a crash, that is what clients are for. */
  async askAgain(): Promise<void> {
    for (const issued of this.issued) await this.#world.until(this.#send(issued))
  }

  async #send({ requestId, request, sendings }: Issued): Promise<Outcome> {
    const { life } = this.subject
    const outcome: Outcome = { type: 'pending' }
    const sending: Sending = { known: 0, life, sent: this.#moments++, answered: Infinity, outcome }
    sendings.push(sending)
    sending.outcome = await this.subject.send(requestId, request, REST_MS)
    sending.answered = this.#moments++
    return sending.outcome
  }
}
