/**
 * The directive file of a bundle: its topics, and how its features are run.
 *
 *   topics:
 *     - topic: orders.events
 *       role: producer
 *       clientPrincipal: svc-orders
 *       eventFilters:
 *         - { key: OrderCreated, value: v1 }
 *   tags: '@smoke and not @slow'
 *
 * Keys are added, never renamed: bundles outlive the version they were written for.
 */
import type { Directive, TopicDirective } from './directive.ts'
import { readTopic } from './directive-topic.ts'
import type { Finding } from './finding.ts'
import { readYaml, type Entry, type Fields, type YamlReader } from './yaml-reader.ts'

export const DIRECTIVE_FILE = 'topic-directive.yaml'
export const DIRECTIVE_BYTES_MAX = 65_536
export const TOPICS_MAX = 100
/** Globs of steps, names of secrets, names to hold alone. */
export const DIRECTIVE_LIST_MAX = 100
export const PARALLEL_MAX = 64
export const RETRIES_MAX = 10
export const TESTING_MS_MAX = 86_400_000

const WORD_CHARS_MAX = 512
const TAGS_CHARS_MAX = 4_096

const KEYS = [
  'topics',
  'tags',
  'steps',
  'secrets',
  'exclusive',
  'parallel',
  'retries',
  'testingMs',
  'network',
] as const

/** What holds for a bundle without a directive file. */
export const directiveDefaults: Directive = {
  topics: [],
  tags: undefined,
  steps: ['steps/**/*.{js,mjs,cjs,ts,mts,cts}'],
  secrets: [],
  exclusive: [],
  parallel: 1,
  retries: 0,
  testingMs: undefined,
  network: false,
}

/** A directive with its findings; where there are any it is only good for finding more. */
export type ReadDirective = Readonly<{
  directive: Directive
  findings: readonly Finding[]
  /** Where the key stands in the file. */
  lineOf: (key: 'tags' | 'steps') => number | undefined
}>

export async function readDirective(text: string): Promise<ReadDirective> {
  const reader = await readYaml(DIRECTIVE_FILE, text)
  const { root } = reader
  const fields =
    root === undefined
      ? undefined
      : reader.fields({ node: root, at: 0 }, 'the directive file', KEYS)
  const directive = fields === undefined ? directiveDefaults : await directiveOf(reader, fields)
  return {
    directive,
    findings: reader.findings,
    lineOf(key) {
      const entry = fields?.get(key)
      return entry === undefined ? undefined : reader.lineOf(entry.at)
    },
  }
}

async function directiveOf(reader: YamlReader, fields: Fields): Promise<Directive> {
  const read = <T>(key: (typeof KEYS)[number], how: (entry: Entry) => T | undefined) => {
    const entry = fields.get(key)
    return (entry === undefined ? undefined : how(entry)) ?? undefined
  }
  const words = (key: 'steps' | 'secrets' | 'exclusive'): readonly string[] | undefined =>
    read(key, (entry) =>
      reader
        .list(entry, key, DIRECTIVE_LIST_MAX)
        ?.flatMap((item) => reader.text(item, `an entry of ${key}`, WORD_CHARS_MAX) ?? []),
    )
  return {
    topics: unique(
      reader,
      read('topics', (entry) =>
        reader.list(entry, 'topics', TOPICS_MAX)?.flatMap((item) => readTopic(reader, item) ?? []),
      ) ?? [],
    ),
    tags: read('tags', (entry) => reader.text(entry, 'tags', TAGS_CHARS_MAX)),
    steps: words('steps') ?? directiveDefaults.steps,
    secrets: words('secrets') ?? [],
    exclusive: words('exclusive') ?? [],
    parallel: read('parallel', (entry) => reader.whole(entry, 'parallel', 1, PARALLEL_MAX)) ?? 1,
    retries: read('retries', (entry) => reader.whole(entry, 'retries', 0, RETRIES_MAX)) ?? 0,
    testingMs: read('testingMs', (entry) => reader.whole(entry, 'testingMs', 1, TESTING_MS_MAX)),
    network: read('network', (entry) => reader.flag(entry, 'network')) ?? false,
  }
}

/** One topic may be written to and read back, but in each role once. */
function unique(
  reader: YamlReader,
  topics: readonly (TopicDirective & Readonly<{ at: number }>)[],
): readonly TopicDirective[] {
  const seen = new Map<string, number>()
  return topics.map(({ at, ...topic }) => {
    const id = `${topic.topic}/${topic.role}`
    const first = seen.get(id)
    if (first === undefined) seen.set(id, topic.line)
    else
      reader.tell(
        at,
        `the topic ${topic.topic} is there twice as ${topic.role}, first in line ${first}`,
        'keep one of them',
      )
    return topic
  })
}
