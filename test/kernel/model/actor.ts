/** One actor of the model and what belongs to it, as plain data. */
import type { Nature, Script } from '../program.ts'
import type { Appointment } from './agenda.ts'
import type { Disarm, Slot, Waiter } from './conditions.ts'

/** What a letter says of itself. */
export type About = Readonly<{
  /** Who sent it: an actor, or somebody outside. */
  from: number
  to: ModelActor
  /** Told by a timer or a watch: it may exceed the bound and is no dead letter. */
  promised?: boolean
  context?: string | undefined
}>

/** One message, the same object in the model and in the kernel. Ids count up as letters are sent. */
export class Letter {
  readonly id: number
  readonly script: Script
  readonly from: number
  readonly to: ModelActor
  readonly promised: boolean
  readonly context: string | undefined
  runs = 0

  constructor(id: number, script: Script, about: About) {
    this.id = id
    this.script = script
    this.from = about.from
    this.to = about.to
    this.promised = about.promised ?? false
    this.context = about.context
  }
}

/** How something promised can be taken back while it waits. */
export type Pledge = {
  isWithdrawn: boolean
  /** Of a timer, which a restart ends; an end that is watched for is told to the next life too. */
  readonly isOfLife: boolean
  readonly onTaken: () => void
}

/** What waits for an actor. Without a letter it is the start of its behavior. */
export type Entry = { readonly letter: Letter | undefined; readonly pledge?: Pledge }

export type RunningTimer = { readonly pledge: Pledge; at: Appointment }

export type ModelToken = { readonly actor: ModelActor; active: boolean; disarm: Disarm }

export type SystemWork =
  | Readonly<{ type: 'stop' }>
  | Readonly<{ type: 'child-ended' }>
  | Readonly<{ type: 'child-failed'; token: ModelToken }>

export type Cause = 'stopped' | 'parent-stopped' | 'system-stopped' | 'failed' | 'restart-limit'

export class ModelActor {
  readonly id: number
  readonly parent: ModelActor | undefined
  readonly nature: Nature
  readonly children: ModelActor[] = []
  state: 'alive' | 'stopping' | 'stopped' = 'alive'
  restarting = false
  cause: Cause = 'stopped'
  /** Next in turn, ahead of all mail: a start or a retry. */
  ahead: Entry | undefined
  queue: Entry[] = []
  stash: Letter[] = []
  readonly tokens: Set<ModelToken> = new Set()
  awaiting: { readonly entry: Entry; readonly slot: Slot; limit?: Appointment } | undefined
  readonly system: SystemWork[] = []
  readonly timers: Map<string, RunningTimer> = new Map()
  waiters: Waiter[] = []
  /** What it told full mailboxes that hold up their senders. */
  held: { readonly to: ModelActor; readonly letter: Letter }[] = []
  waitingOn: { readonly target: ModelActor; readonly waiter: Waiter } | undefined
  block: ModelToken | undefined
  /** Ends of others that wait in its mailbox. */
  readonly endings: Map<ModelActor, Pledge> = new Map()
  watchers: { readonly watcher: ModelActor; readonly letter: Letter }[] = []
  behavior = 0
  started: boolean
  failing: { readonly entry: Entry; readonly attempts: number } | undefined
  restarts: number[] = []
  /** Its life is over but for the hook. */
  closing = false

  constructor(id: number, parent: ModelActor | undefined, nature: Nature) {
    this.id = id
    this.parent = parent
    this.nature = nature
    this.started = !nature.setup
    if (nature.setup) this.ahead = { letter: undefined }
  }

  /** Whether its messages stay where they are. */
  get halted(): boolean {
    const rests = this.tokens.size > 0 || this.awaiting !== undefined
    return this.state !== 'alive' || this.restarting || rests
  }

  get hasMail(): boolean {
    return this.ahead !== undefined || this.queue.length > 0
  }

  get room(): number {
    return this.nature.bound - this.queue.length
  }
}
