/**
 * What the messages of a run tell, put in the order in which people read it: features, their scenarios,
 * the steps of each with how they ended.
 *
 * Messages may stop anywhere, as they do when a run is killed: what had not ended then is shown as
 * unknown. Only the last attempt of a scenario is told.
 */

export type Story = Readonly<{ features: readonly FeatureStory[]; isFinished: boolean }>

export type FeatureStory = Node &
  Readonly<{ uri: string; tags: readonly TagStory[]; scenarios: readonly ScenarioStory[] }>

export type ScenarioStory = Node &
  Readonly<{
    tags: readonly TagStory[]
    steps: readonly StepStory[]
    status: Status
    nanos: number
  }>

export type StepStory = Readonly<{
  /** Before, After for hooks. */
  keyword: string
  name: string
  line: number
  isHook: boolean
  status: Status
  message: string
  nanos: number
  docString?: string
  rows?: readonly (readonly string[])[]
  attachments: readonly Readonly<{ mediaType: string; base64: string }>[]
}>

export type TagStory = Readonly<{ name: string; line: number }>

export type Status =
  | 'unknown'
  | 'passed'
  | 'skipped'
  | 'pending'
  | 'undefined'
  | 'ambiguous'
  | 'failed'

type Node = Readonly<{ keyword: string; name: string; description: string; line: number }>

type Fields = Readonly<Record<string, unknown>>
type Result = Readonly<{ status: Status; message: string; nanos: number }>
type Attempt = Readonly<{ results: Map<string, Result>; attachments: Map<string, Fields[]> }>
type WrittenStep = Omit<StepStory, keyof Result | 'attachments'>

const WORST: readonly Status[] = [
  'passed',
  'skipped',
  'pending',
  'undefined',
  'ambiguous',
  'unknown',
  'failed',
]
const UNKNOWN: Result = { status: 'unknown', message: '', nanos: 0 }

export class StoryTeller {
  readonly #features = new Map<string, Fields>()
  readonly #nodes = new Map<string, Fields>()
  readonly #pickles = new Map<string, Fields>()
  readonly #testCases = new Map<string, Fields>()
  /** By their own id. */
  readonly #attempts = new Map<string, Attempt>()
  /** By the id of their test case. */
  readonly #last = new Map<string, Attempt>()
  #isFinished = false

  add(envelope: Fields): void {
    const [kind = '', fields] = Object.entries(envelope)[0] ?? []
    if (!isFields(fields)) return
    switch (kind) {
      case 'gherkinDocument':
        if (isFields(fields['feature'])) this.#features.set(text(fields['uri']), fields['feature'])
        return this.#index(fields)
      case 'pickle':
        this.#pickles.set(text(fields['id']), fields)
        return
      case 'testCase':
        this.#testCases.set(text(fields['id']), fields)
        return
      case 'testCaseStarted': {
        const attempt = {
          results: new Map<string, Result>(),
          attachments: new Map<string, Fields[]>(),
        }
        this.#attempts.set(text(fields['id']), attempt)
        this.#last.set(text(fields['testCaseId']), attempt)
        return
      }
      case 'testStepFinished':
        this.#attemptOf(fields)?.results.set(text(fields['testStepId']), resultOf(fields))
        return
      case 'attachment': {
        const attachments = this.#attemptOf(fields)?.attachments
        const step = text(fields['testStepId'])
        attachments?.set(step, [...(attachments.get(step) ?? []), fields])
        return
      }
      case 'testRunFinished':
        this.#isFinished = true
        return
      default:
    }
  }

  story(): Story {
    const features = [...this.#features].flatMap(([uri, feature]) => this.#feature(uri, feature))
    return { features, isFinished: this.#isFinished }
  }

  #attemptOf({ testCaseStartedId }: Fields): Attempt | undefined {
    return this.#attempts.get(text(testCaseStartedId))
  }

  /** Everything in a document that has an id, whatever it is. */
  #index(node: unknown): void {
    if (Array.isArray(node)) return node.forEach((each) => this.#index(each))
    if (!isFields(node)) return
    if (typeof node['id'] === 'string') this.#nodes.set(node['id'], node)
    for (const each of Object.values(node)) this.#index(each)
  }

  #feature(uri: string, feature: Fields): readonly FeatureStory[] {
    const scenarios = [...this.#testCases].flatMap(([id, testCase]) => {
      const pickle = this.#pickles.get(text(testCase['pickleId']))
      return pickle === undefined || text(pickle['uri']) !== uri
        ? []
        : [this.#scenario(pickle, testCase, this.#last.get(id))]
    })
    if (scenarios.length === 0) return []
    const tags = list(feature['tags']).map((tag) => ({
      name: text(tag['name']),
      line: lineOf(tag),
    }))
    return [{ ...nodeOf(feature), uri, tags, scenarios }]
  }

  #scenario(pickle: Fields, testCase: Fields, attempt: Attempt | undefined): ScenarioStory {
    const places = texts(pickle['astNodeIds']).map((id) => this.#nodes.get(id) ?? {})
    const steps = this.#steps(pickle, list(testCase['testSteps']), attempt)
    return {
      ...nodeOf(places[0] ?? {}),
      name: text(pickle['name']),
      line: lineOf(places.at(-1) ?? {}), // the row of an outline
      tags: list(pickle['tags']).map((tag) => ({
        name: text(tag['name']),
        line: lineOf(this.#nodes.get(text(tag['astNodeId'])) ?? {}),
      })),
      steps,
      status: attempt === undefined ? 'unknown' : worst(steps),
      nanos: steps.reduce((sum, { nanos }) => sum + nanos, 0),
    }
  }

  #steps(
    pickle: Fields,
    testSteps: readonly Fields[],
    attempt: Attempt | undefined,
  ): readonly StepStory[] {
    const written = new Map(list(pickle['steps']).map((step) => [text(step['id']), step]))
    const first = testSteps.findIndex((each) => each['pickleStepId'] !== undefined)
    return testSteps.map((each, n) => {
      const id = text(each['id'])
      const step = written.get(text(each['pickleStepId']))
      return {
        ...(step === undefined ? hookOf(n < first ? 'Before' : 'After') : this.#step(step)),
        ...(attempt?.results.get(id) ?? UNKNOWN),
        attachments: (attempt?.attachments.get(id) ?? []).map(attachmentOf),
      }
    })
  }

  #step(step: Fields): WrittenStep {
    const node = this.#nodes.get(texts(step['astNodeIds'])[0] ?? '') ?? {}
    const { docString, dataTable } = isFields(step['argument']) ? step['argument'] : {}
    return {
      keyword: text(node['keyword']),
      name: text(step['text']),
      line: lineOf(node),
      isHook: false,
      ...(isFields(docString) && { docString: text(docString['content']) }),
      ...(isFields(dataTable) && {
        rows: list(dataTable['rows']).map(({ cells }) =>
          list(cells).map((cell) => text(cell['value'])),
        ),
      }),
    }
  }
}

function hookOf(keyword: string): WrittenStep {
  return { keyword, name: '', line: 0, isHook: true }
}

function attachmentOf(attachment: Fields): StepStory['attachments'][number] {
  const body = text(attachment['body'])
  const isEncoded = attachment['contentEncoding'] === 'BASE64'
  return {
    mediaType: text(attachment['mediaType']),
    base64: isEncoded ? body : Buffer.from(body).toString('base64'),
  }
}

function resultOf({ testStepResult }: Fields): Result {
  if (!isFields(testStepResult)) return UNKNOWN
  const { status, message, duration } = testStepResult
  const { seconds, nanos } = isFields(duration) ? duration : {}
  return {
    status: WORST.find((each) => each === text(status).toLowerCase()) ?? 'unknown',
    message: text(message),
    nanos: Number(seconds ?? 0) * 1e9 + Number(nanos ?? 0),
  }
}

function nodeOf(node: Fields): Node {
  return {
    keyword: text(node['keyword']),
    name: text(node['name']),
    description: text(node['description']),
    line: lineOf(node),
  }
}

function worst(steps: readonly Result[]): Status {
  return WORST[Math.max(0, ...steps.map(({ status }) => WORST.indexOf(status)))] ?? 'unknown'
}

function lineOf({ location }: Fields): number {
  return isFields(location) ? Number(location['line']) : 0
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(text) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
