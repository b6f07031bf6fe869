/** What came of a test, for people, and what a command that waited for it ends with. */
import { EXIT } from '../io.ts'

/** As the orchestrator has it, and as it comes over the wire. */
export type ToldStatus = Readonly<{
  outcome?: string
  error?: string
  errorCode?: string
  evidence?: string
  result?: Readonly<{
    scenarioCount: number
    scenariosPassed: number
    scenariosFailed: number
    scenariosSkipped: number
    stepsUndefined: number
    durationMillis: number
    failedScenarios: readonly Readonly<{ name: string; location: string; error: string }>[]
  }>
}>

/** What failed is trouble; what could not be run at all was asked for wrongly, or the world is to blame. */
export function exitCodeOf({ outcome }: ToldStatus): number {
  if (outcome === 'passed') return EXIT.fine
  return outcome === 'failed' ? EXIT.trouble : EXIT.usage
}

export function resultText(status: ToldStatus, report?: string): string {
  const { outcome = 'unknown', error, errorCode, evidence, result } = status
  const lines: string[] = []
  if (result !== undefined) {
    for (const { name, location, error: why } of result.failedScenarios)
      lines.push(`${location}  ${name}`, indented(why))
    lines.push(countsOf(result))
  }
  if (error !== undefined) lines.push(`${errorCode ?? 'error'}: ${error}`)
  if (evidence === 'pending' || evidence === 'lost') lines.push('its evidence could not be stored')
  lines.push(outcome)
  if (report !== undefined) lines.push(`report: ${report}`)
  return lines.join('\n')
}

function countsOf(result: NonNullable<ToldStatus['result']>): string {
  const { scenarioCount, scenariosPassed, scenariosFailed, scenariosSkipped } = result
  const { stepsUndefined, durationMillis } = result
  const parts = [
    `${scenariosPassed} passed`,
    scenariosFailed > 0 && `${scenariosFailed} failed`,
    scenariosSkipped > 0 && `${scenariosSkipped} skipped`,
    stepsUndefined > 0 && `${stepsUndefined} steps undefined`,
  ].filter((part) => part !== false)
  const noun = scenarioCount === 1 ? 'scenario' : 'scenarios'
  return `${scenarioCount} ${noun}: ${parts.join(', ')} (${(durationMillis / 1_000).toFixed(1)} s)`
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
