/** One kind of entity in a runtime: its definition, and all of its kind that are awake or in trouble. */
import type { Ref } from '../../kernel/index.ts'
import type { Accident } from '../../std/index.ts'
import type { EntityDefinition } from '../entity.ts'
import type { Active } from './active.ts'
import { foldOf } from './codec.ts'
import type { Core } from './core.ts'
import { SNAPSHOT_EVERY_DEFAULT } from './ladder.ts'
import type { Placing } from './shelf.ts'

/** Any definition, its types forgotten: what its runtime gives it is what it was defined with. */
export type Definition = EntityDefinition<unknown, unknown, { type: string }, unknown>

/** Why an entity is not there, and until when nobody tries. */
export type Trouble = Readonly<{
  phase: 'failed' | 'quarantined'
  accident: Accident
  attempts: number
  /** Monotonic; Infinity until somebody releases it. */
  retryMs: number
  /** The same for people, in steady wall time. */
  retryAtMs: number
}>

export class Kind {
  readonly core: Core
  readonly type: string
  readonly definition: Definition
  readonly fold: string
  readonly snapshotEvery: number
  readonly active: Map<string, Active> = new Map()
  readonly troubles: Map<string, Trouble> = new Map()
  /** Parent of the actors of this kind, once it has been spawned. */
  shelf: Ref<Placing> | undefined

  constructor(core: Core, definition: Definition) {
    this.core = core
    this.type = definition.type
    this.definition = definition
    this.fold = foldOf(definition)
    this.snapshotEvery = definition.snapshots?.every ?? SNAPSHOT_EVERY_DEFAULT
  }
}
