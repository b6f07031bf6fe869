/**
 * The story of a run as JUnit XML, which is what build servers read.
 *
 * A run that came to no end, or had nothing to run, has a test case of its own that failed: a build
 * server takes a report without failures for a success.
 */
import type { FeatureStory, ScenarioStory, Story } from './story.ts'

export type JunitOptions = Readonly<{ name: string; failure: string | undefined }>

type Case = Readonly<{ scenario: ScenarioStory; feature: FeatureStory }>

export function junitXml({ features, isFinished }: Story, options: JunitOptions): string {
  const cases: readonly Case[] = features.flatMap((feature) =>
    feature.scenarios.map((scenario) => ({ scenario, feature })),
  )
  const whole =
    options.failure ??
    (!isFinished ? 'the run did not come to its end' : undefined) ??
    (cases.length === 0 ? 'there is no scenario to run' : undefined)
  const lines = cases.map(caseOf)
  if (whole !== undefined)
    lines.push(
      `  <testcase classname="run" name="the run" time="0">${failureOf(whole, '')}</testcase>`,
    )
  const failures = lines.filter((line) => line.includes('<failure ')).length
  const skipped = lines.filter((line) => line.includes('<skipped/>')).length
  const nanos = cases.reduce((sum, { scenario }) => sum + scenario.nanos, 0)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${escaped(options.name)}" tests="${lines.length}" failures="${failures}" ` +
      `errors="0" skipped="${skipped}" time="${seconds(nanos)}">`,
    ...lines,
    '</testsuite>',
    '',
  ].join('\n')
}

function caseOf({ scenario, feature }: Case): string {
  const { name, line, status, nanos } = scenario
  const head =
    `  <testcase classname="${escaped(feature.name)}" name="${escaped(name)}" ` +
    `file="${escaped(feature.uri)}" line="${line}" time="${seconds(nanos)}">`
  return `${head}${outcomeOf(scenario, status)}</testcase>`
}

function outcomeOf({ steps }: ScenarioStory, status: ScenarioStory['status']): string {
  if (status === 'passed') return ''
  if (status === 'skipped') return '<skipped/>'
  const cause = steps.find((step) => step.status === status)
  const what = `${status}: ${cause === undefined || cause.isHook ? 'a hook' : cause.name}`
  return failureOf(what, cause?.message ?? '')
}

function failureOf(what: string, about: string): string {
  return `<failure message="${escaped(what)}">${escaped(about)}</failure>`
}

function seconds(nanos: number): string {
  return (nanos / 1e9).toFixed(3)
}

/** Characters that XML cannot have at all are replaced. */
function escaped(text: string): string {
  return (
    text
      // oxlint-disable-next-line no-control-regex -- those are the ones
      .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '\uFFFD')
      .toWellFormed()
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll('\n', '&#10;')
  )
}
