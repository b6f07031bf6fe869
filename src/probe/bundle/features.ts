/**
 * Checks feature files with Cucumber's own parser, so that what is found here is what a run would meet.
 *
 * All errors of a file are told, each with its line; a file is parsed after it was measured.
 */
import type { Finding } from './finding.ts'

export const FEATURES_MAX = 1_000
export const FEATURE_BYTES_MAX = 262_144
/** Parsing takes its time by lines, empty ones too, and everybody waits for it. */
export const FEATURE_LINES_MAX = 10_000
/** Of all features together. */
export const BUNDLE_LINES_MAX = 50_000

export type CheckedFeature = Readonly<{ scenarios: number; findings: readonly Finding[] }>

export type FeatureChecker = (file: string, text: string) => CheckedFeature

export function isFeature(name: string): boolean {
  return /\.feature(?:\.md)?$/i.test(name)
}

export async function featureChecker(): Promise<FeatureChecker> {
  const gherkin = await import('@cucumber/gherkin')
  let ids = 0
  return (file, text) => {
    const matcher = file.toLowerCase().endsWith('.md')
      ? new gherkin.GherkinInMarkdownTokenMatcher()
      : new gherkin.GherkinClassicTokenMatcher()
    const parser = new gherkin.Parser(new gherkin.AstBuilder(() => String((ids += 1))), matcher)
    parser.stopAtFirstError = false
    try {
      const { feature } = parser.parse(text)
      if (feature === undefined)
        return broken(file, 1, 'there is no feature in it', 'begin it with `Feature: …`')
      return {
        scenarios: feature.children.reduce((sum, child) => sum + scenariosOf(child), 0),
        findings: [],
      }
    } catch (error) {
      if (!(error instanceof gherkin.Errors.GherkinException)) throw error
      const errors: readonly Error[] = error.errors ?? [error]
      return { scenarios: 0, findings: errors.map((one) => findingOf(file, one)) }
    }
  }
}

type Child = Readonly<{ scenario?: unknown; rule?: Readonly<{ children: readonly Child[] }> }>

function scenariosOf({ scenario, rule }: Child): number {
  if (rule !== undefined) return rule.children.reduce((sum, child) => sum + scenariosOf(child), 0)
  return scenario === undefined ? 0 : 1
}

function findingOf(file: string, error: Error): Finding {
  const at = 'location' in error ? error.location : undefined
  const line = typeof at === 'object' && at !== null && 'line' in at ? at.line : undefined
  return {
    file,
    line: typeof line === 'number' ? line : 1,
    message: error.message.replace(/^\(-?\d+:-?\d+\): /, ''),
    remedy: error.message.includes('inconsistent cell count')
      ? 'give every row of the table as many cells as the first has'
      : 'mend the line: it begins with a keyword such as Scenario, Given, When, Then or And',
  }
}

function broken(file: string, line: number, message: string, remedy: string): CheckedFeature {
  return { scenarios: 0, findings: [{ file, line, message, remedy }] }
}
