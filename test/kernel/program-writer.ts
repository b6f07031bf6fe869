/**
 * Draws a program from a seed, always the same.
 *
 * A program has a theme, which only makes some things likelier: things that need several rare ones to
 * come together, such as a restart of an actor that awaits, would hardly ever happen otherwise.
 */
import type { SuspendReason } from '../../src/kernel/index.ts'
import {
  escalate,
  restart,
  resume,
  retry,
  stop,
  type Supervision,
} from '../../src/kernel/supervision.ts'
import { EXPRESS_MAX } from '../../src/kernel/internal/dispatch.ts'
import { random, type Random } from '../../src/std/index.ts'
import {
  IDLE,
  NEWEST,
  PARENT,
  PLAIN,
  SELF,
  type Act,
  type Condition,
  type End,
  type Nature,
  type Op,
  type Outcome,
  type OwnAct,
  type Program,
  type Script,
} from './program.ts'

type Theme = 'anything' | 'family' | 'pressure'
type Suspension = Readonly<{ actor: number; reason: SuspendReason; condition: Condition }>
type Send = Extract<Act, { type: 'send' }>

const KEYS = ['red', 'green', 'blue'] as const
const REASONS = ['user', 'external', 'rate-limit'] as const
const OUTCOMES = ['ok', 'ok', 'ok', 'reject', 'reject', 'become', 'become-later'] as const
const CROWD_EVERY = 100

export function programOf(seed: number): Program {
  return new Writer(random(seed)).program(seed)
}

class Writer {
  readonly #draw: Random
  readonly #theme: Theme

  constructor(draw: Random) {
    this.#draw = draw
    this.#theme = draw.pick(['anything', 'anything', 'family', 'pressure'] as const)
  }

  program(seed: number): Program {
    const tickMs = this.#draw.pick([0, 0, 0.05, 0.2, 1])
    const crowd = seed % CROWD_EVERY === 7
    if (crowd) return { seed, tickMs, crowd, ops: this.#crowd() }
    const ops: Op[] = []
    const first = 2 + this.#draw.below(3)
    for (let i = 0; i < first; i++) ops.push({ type: 'spawn', nature: this.#nature() })
    const length = 20 + this.#draw.below(40)
    while (ops.length < length) ops.push(this.#op())
    return { seed, tickMs, crowd, ops }
  }

  /** True once in `n` times. */
  #oneIn(n: number): boolean {
    return this.#draw.below(n) === 0
  }

  #anybody(): number {
    return this.#draw.below(8)
  }

  /** Whom a handler means: often itself. */
  #whom(): number {
    const kind = this.#draw.below(20)
    if (kind < 6) return SELF
    if (kind < 8) return PARENT
    return kind < 10 ? NEWEST : this.#anybody()
  }

  /** Enough actors with enough mail to make the ring of the express lane grow while it is in use. */
  #crowd(): Op[] {
    const ops: Op[] = []
    const actors = 20 + this.#draw.below(60)
    for (let i = 0; i < actors; i++) ops.push({ type: 'spawn', nature: PLAIN })
    for (let i = 0; i < 3; i++) {
      const to = this.#draw.below(actors)
      ops.push({ type: 'flood', to, count: 1 + this.#draw.below(60) }, this.#turns())
    }
    for (let to = 0; to < actors; to++) {
      ops.push({ type: 'flood', to, count: 40 + this.#draw.below(40) })
      if (this.#oneIn(8)) ops.push(this.#op())
    }
    ops.push({ type: 'rest' })
    return ops
  }

  #op(): Op {
    const kind = this.#draw.below(100)
    if (kind < 26) return this.#send(2)
    if (kind < 42) return this.#turns()
    if (kind < 50) return { type: 'rest' }
    if (kind < 58) return { type: 'advance', ms: this.#draw.pick([0, 1, 1, 2, 3, 5, 8, 20]) }
    if (kind < 65)
      return { type: 'settle', promise: this.#draw.below(50), outcome: this.#outcome() }
    if (kind < 71) return { type: 'suspend', ...this.#suspension(this.#anybody()) }
    if (kind < 77) return { type: 'resume', token: this.#draw.below(50) }
    if (kind < 80) return { type: 'signal', key: this.#draw.pick(KEYS), sticky: this.#oneIn(3) }
    if (kind < 84) return { type: 'flood', to: this.#anybody(), count: this.#flood() }
    if (kind < 87) return { type: 'stop', actor: this.#anybody() }
    if (kind < 90) return { type: 'spawn', nature: this.#nature() }
    if (kind < 93) return { type: 'offer', to: this.#anybody(), script: this.#script(1) }
    if (kind < 95) return { type: 'address', actor: this.#anybody() }
    if (kind < 98) return { type: 'tell-at', address: this.#anybody(), script: this.#script(1) }
    return { type: 'listen' }
  }

  #turns(): Op {
    const picks = Array.from({ length: 1 + this.#draw.below(4) }, () => this.#draw.below(1_000))
    return { type: 'turns', picks }
  }

  /** Mostly a few; sometimes past the express quota and a first chunk, rarely past a large one. */
  #flood(): number {
    const kind = this.#draw.below(40)
    if (kind === 0) return 1_030 + this.#draw.below(1_200)
    if (kind < 8) return 15 + this.#draw.below(EXPRESS_MAX + 60)
    return 1 + this.#draw.below(8)
  }

  #send(depth: number): Send {
    const context = this.#oneIn(12)
    return { type: 'send', to: this.#anybody(), script: this.#script(depth), context }
  }

  /** A message that leads to nothing further. */
  #idleSend(to: number): Send {
    return { type: 'send', to, script: IDLE, context: false }
  }

  #script(depth: number): Script {
    if (this.#theme === 'family' && depth > 0 && this.#oneIn(4)) return this.#familyTrouble()
    const length = this.#draw.pick([0, 0, 1, 1, 2, 3])
    return { acts: Array.from({ length }, () => this.#ownAct(depth)), end: this.#end() }
  }

  /** A child that leaves its failure to a parent that waits for something else. */
  #familyTrouble(): Script {
    const nature = { ...this.#special(), setup: false, startThrows: 0, supervision: escalate() }
    const trouble: Script = { acts: [], end: { type: 'throw', times: 4 } }
    const acts: OwnAct[] = [
      { type: 'spawn', nature },
      { type: 'send', to: NEWEST, script: trouble, context: false },
    ]
    return { acts, end: this.#oneIn(3) ? this.#end() : { type: 'async', acts: [] } }
  }

  /** What a message that was promised to the actor does: it may come often, so it begets nothing. */
  #leaf(isRepeated: boolean): Script {
    const kind = this.#draw.below(10)
    if (kind === 0) return { acts: [], end: { type: 'throw', times: 1 + this.#draw.below(2) } }
    if (kind === 1 && !isRepeated) return { acts: [], end: { type: 'async', acts: [] } }
    if (kind !== 2) return IDLE
    return { acts: [{ type: 'cancel', key: this.#draw.pick(KEYS) }], end: { type: 'ok' } }
  }

  #end(): End {
    const kind = this.#draw.below(100)
    if (kind < 40) return { type: this.#draw.pick(['ok', 'ok', 'same']) }
    if (kind < 60) return { type: 'throw', times: this.#draw.pick([1, 1, 2, 4]) }
    if (kind < 78) return { type: 'async', acts: this.#oneIn(3) ? [this.#act(0)] : [] }
    if (kind < 85) return { type: 'stash' }
    if (kind < 90) return { type: 'become' }
    if (kind < 94) {
      const acts = this.#oneIn(2) ? [this.#idleSend(this.#anybody())] : []
      return { type: 'become-later', acts, throws: this.#oneIn(4) }
    }
    return { type: kind < 97 ? 'stopped' : 'garbage' }
  }

  #outcome(): Outcome {
    return this.#oneIn(5) ? this.#draw.pick(['stopped', 'garbage']) : this.#draw.pick(OUTCOMES)
  }

  #ownAct(depth: number): OwnAct {
    const kind = this.#draw.below(100)
    if (kind < 55) return this.#act(depth)
    if (kind < 73) {
      const every = this.#oneIn(3)
      const ms = every ? 1 + this.#draw.below(4) : this.#draw.below(5)
      return { type: 'timer', key: this.#draw.pick(KEYS), ms, every, script: this.#leaf(every) }
    }
    if (kind < 83) return { type: 'cancel', key: this.#draw.pick(KEYS) }
    if (kind < 91) return { type: 'unstash' }
    if (kind < 98) return { type: 'watch', actor: this.#anybody(), script: this.#leaf(false) }
    return { type: 'unwatch', actor: this.#anybody() }
  }

  #act(depth: number): Act {
    const kind = this.#draw.below(this.#theme === 'pressure' ? 70 : 100)
    if (kind < 45) {
      const to = this.#whom()
      return depth === 0 ? this.#idleSend(to) : { ...this.#send(depth - 1), to }
    }
    if (kind < 65) return { type: 'suspend', ...this.#suspension(this.#whom()) }
    if (kind < 80) return { type: 'resume', token: this.#draw.below(50) }
    if (kind < 88) return { type: 'stop', actor: this.#whom() }
    if (kind < 93) return { type: 'signal', key: this.#draw.pick(KEYS), sticky: this.#oneIn(3) }
    return { type: 'spawn', nature: this.#nature() }
  }

  #suspension(actor: number): Suspension {
    return { actor, reason: this.#draw.pick(REASONS), condition: this.#condition(2) }
  }

  #condition(depth: number): Condition {
    const kind = this.#draw.below(depth > 0 ? 16 : 12)
    if (kind < 3) return { type: 'manual' }
    if (kind < 6) return { type: 'after', ms: this.#draw.below(6) }
    if (kind < 8) return { type: 'signal', key: this.#draw.pick(KEYS) }
    if (kind < 10) {
      return { type: 'capacity', target: this.#anybody(), room: 1 + this.#draw.below(3) }
    }
    if (kind < 12) return { type: 'promise' }
    const of = Array.from({ length: this.#draw.below(4) }, () => this.#condition(depth - 1))
    return { type: this.#draw.pick(['all', 'any']), of }
  }

  #nature(): Nature {
    return this.#oneIn(this.#theme === 'anything' ? 3 : 8) ? PLAIN : this.#special()
  }

  #special(): Nature {
    const draw = this.#draw
    const setup = this.#oneIn(4)
    const startThrows = setup && this.#oneIn(4) ? 1 + draw.below(2) : 0
    const hooks = ['async', 'none', 'none', 'returns', 'throws'] as const
    const hook = this.#theme === 'family' && this.#oneIn(2) ? 'async' : draw.pick(hooks)
    const isTight = this.#theme === 'pressure'
    return {
      plain: false,
      bound: isTight ? 1 + draw.below(4) : draw.pick([1, 1, 2, 3, 4, EXPRESS_MAX + 6, 10_000]),
      overflow: draw.pick([
        'reject',
        'drop-oldest',
        'drop-newest',
        'suspend-sender',
        'suspend-sender',
      ]),
      priority: draw.pick(['normal', 'normal', 'normal', 'high', 'low']),
      supervision: this.#supervision(2, startThrows > 0),
      stash: draw.pick([0, 1, 2, 1_000]),
      handlerMs: this.#oneIn(4) ? 1 + draw.below(4) : undefined,
      setup,
      startThrows,
      hook,
      hookActs: hook !== 'none' && this.#oneIn(3) ? [this.#idleSend(this.#anybody())] : [],
      heard: this.#oneIn(3),
    }
  }

  /** Where the start may throw nobody may pass over it: there would be no behavior at all. */
  #supervision(depth: number, startThrows: boolean): Supervision {
    const draw = this.#draw
    const backoff = { minMs: draw.pick([0, 0, 1, 3]), maxMs: 8, factor: 2, jitter: 0 }
    const kind = this.#theme === 'family' && this.#oneIn(2) ? 9 : draw.below(depth > 0 ? 12 : 6)
    if (kind < 6 && startThrows) return stop()
    if (kind < 2) return stop()
    if (kind < 4) return escalate()
    if (kind < 6) return resume()
    if (kind < 9) {
      const otherwise = this.#supervision(depth - 1, startThrows)
      return retry({ max: draw.below(3), backoff, otherwise })
    }
    const otherwise = startThrows || this.#oneIn(2) ? stop() : escalate()
    return restart({ max: draw.below(4), windowMs: draw.pick([4, 40]), backoff, otherwise })
  }
}
