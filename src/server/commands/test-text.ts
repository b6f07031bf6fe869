/** What came of a test, for people, and what a command that waited for it ends with. */
import { wordsOf, type BundleFinding } from '../../probe/index.ts'
import type { Fault } from '../../std/index.ts'
import { EXIT } from '../io.ts'

/** As the orchestrator has it, and as it comes over the wire. */
export type ToldStatus = Readonly<{
  outcome?: string
  error?: string
  errorCode?: string
  errorRemedy?: string
  evidence?: string
  result?: Readonly<{
    scenarioCount: number
    scenariosPassed: number
    scenariosFailed: number
    scenariosSkipped: number
    stepsUndefined: number
    durationMillis: number
    errorMessage?: string
    failedScenarios: readonly Readonly<{ name: string; location: string; error: string }>[]
  }>
}>

/** What failed is trouble; what could not be run at all was asked for wrongly, or the world is to blame. */
export function exitCodeOf({ outcome }: ToldStatus): number {
  if (outcome === 'passed') return EXIT.fine
  return outcome === 'failed' ? EXIT.trouble : EXIT.usage
}

/** `evidence` is where the files are, a URL that ends in a slash; undefined where there are none. */
export function resultText(status: ToldStatus, evidence?: string): string {
  const { outcome = 'unknown' } = status
  return [...whyLines(status), outcome, ...linkLines(status, evidence)].join('\n')
}

/** Why it ended as it did. */
export function whyLines(status: ToldStatus): readonly string[] {
  const { error, errorCode, errorRemedy, evidence, result } = status
  const lines: string[] = []
  if (result !== undefined) {
    for (const { name, location, error: why } of result.failedScenarios)
      lines.push(`${location}  ${name}`, indented(why))
    lines.push(countsOf(result))
    // Scenarios that failed have said why; that there was none has to be said.
    if (result.failedScenarios.length === 0 && result.errorMessage !== undefined)
      lines.push(result.errorMessage)
  }
  if (error !== undefined) lines.push(`${errorCode ?? 'error'}: ${error}`)
  if (errorRemedy !== undefined) lines.push(`what to do: ${errorRemedy}`)
  if (evidence === 'pending' || evidence === 'lost') lines.push('its evidence could not be stored')
  return lines
}

/** What could not be run has nothing to report, but a log. */
export function linkLines(
  { outcome }: ToldStatus,
  evidence: string | undefined,
): readonly string[] {
  if (evidence === undefined) return []
  return [outcome === 'errored' ? `log: ${evidence}run.log` : `report: ${evidence}report.html`]
}

/** What is wrong with a bundle, a line for each finding. */
export function findingLines(refusal: Fault): readonly string[] {
  const { findings, count } = refusal.detail
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `bad-bundle` carries
  const named = findings as readonly BundleFinding[]
  const lines = named.map((each) => `${wordsOf(each)}; ${each.remedy}`)
  const others = Number(count) - named.length
  return others > 0 ? [...lines, `and ${others} more`] : lines
}

function countsOf(result: NonNullable<ToldStatus['result']>): string {
  const { scenarioCount, scenariosPassed, scenariosFailed, scenariosSkipped } = result
  const { stepsUndefined, durationMillis } = result
  const parts = [
    `${scenariosPassed} passed`,
    scenariosFailed > 0 && `${scenariosFailed} failed`,
    scenariosSkipped > 0 && `${scenariosSkipped} skipped`,
    stepsUndefined > 0 && `${stepsUndefined} step${stepsUndefined === 1 ? '' : 's'} undefined`,
  ].filter((part) => part !== false)
  const noun = scenarioCount === 1 ? 'scenario' : 'scenarios'
  return `${scenarioCount} ${noun}: ${parts.join(', ')} (${(durationMillis / 1_000).toFixed(1)} s)`
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
