/** The story of a run in the format that tools know as Cucumber's JSON report. */
import type { FeatureStory, ScenarioStory, StepStory, Story } from './story.ts'

export function cucumberJson({ features }: Story): string {
  return `${JSON.stringify(features.map(featureOf), undefined, 2)}\n`
}

function featureOf({ scenarios, ...feature }: FeatureStory): object {
  return {
    ...feature,
    id: idOf(feature.name),
    elements: scenarios.map((scenario) => elementOf(scenario, feature.name)),
  }
}

function elementOf(scenario: ScenarioStory, feature: string): object {
  const { keyword, name, description, line, tags, steps } = scenario
  return {
    id: `${idOf(feature)};${idOf(name)};${line}`,
    type: 'scenario',
    keyword,
    name,
    description,
    line,
    tags,
    steps: steps.map(stepOf),
  }
}

function stepOf(step: StepStory): object {
  const { keyword, name, line, isHook, status, message, nanos, docString, rows } = step
  const given = [
    ...(docString === undefined ? [] : [{ content: docString, line }]),
    ...(rows === undefined ? [] : [{ rows: rows.map((cells) => ({ cells })) }]),
  ]
  return {
    keyword,
    ...(isHook ? { hidden: true } : { name, line, arguments: given }),
    result: {
      status,
      duration: nanos,
      ...(status === 'failed' && message !== '' && { error_message: message }),
    },
    ...(step.attachments.length > 0 && {
      embeddings: step.attachments.map(({ mediaType, base64 }) => ({
        mime_type: mediaType,
        data: base64,
      })),
    }),
  }
}

function idOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-')
}
