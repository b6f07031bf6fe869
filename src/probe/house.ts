/** What all actors of one orchestrator are given. */
import type { ChildFactory } from '../kernel/index.ts'
import type { Log } from '../std/index.ts'
import type { ChildOptions } from './children/child.ts'
import type { ProbePorts } from './children/ports.ts'
import type { ExecutionOptions } from './execution/data.ts'
import type { ProbeSettings } from './options.ts'
import type {
  BlockStorageMessage,
  CucumberMessage,
  EventsMessage,
  ExecutionMessage,
  VaultMessage,
} from './protocol.ts'
import type { Register } from './register.ts'
import type { Progress } from './runner/runner.ts'
import type { Schedule } from './schedule.ts'
import type { Tally } from './tally.ts'

/** How each kind of actor is made; whoever wants to stand in for one hands in another. */
export type Factories = Readonly<{
  execution: ChildFactory<[ExecutionOptions], ExecutionMessage>
  blockStorage: ChildFactory<[ChildOptions], BlockStorageMessage>
  vault: ChildFactory<[ChildOptions], VaultMessage>
  cucumber: ChildFactory<[ChildOptions], CucumberMessage>
  producer: ChildFactory<[ChildOptions], EventsMessage>
  consumer: ChildFactory<[ChildOptions], EventsMessage>
}>

export type House = Readonly<{
  register: Register
  ports: ProbePorts
  factories: Factories
  settings: ProbeSettings
  log: Log
  /** The id of a test that there has never been. */
  newId: () => string
  tally: Tally
  /** The schedule of the queue that lives, for whoever looks; and how many actors tests have had. */
  seen: { schedule: Schedule | undefined; lives: number }
  onProgress: (testId: string, progress: Progress) => void
}>
