/** What a suite is: a name on the command line that turns into figures. */
import type { Measured } from '../figure.ts'

export type Options = Readonly<{
  quick: boolean
  /** Peers asked for by name; without it the suite chooses. */
  peers?: readonly string[]
  /** Passes asked for; without it the suite chooses, and a quick run keeps its time. */
  rounds?: number
  /** Progress, and what a reader of the figures should know. */
  say: (line: string) => void
}>

export type Suite = (options: Options) => Promise<readonly Measured[]>
