/**
 * The architecture as tables, and the rules that hold the source to them.
 *
 * A rule is a pure function from files to findings, one sentence each, so that `tidy.test.ts` can
 * show every rule a violation as well as the real tree. Adding a row to a table is a decision; a
 * rule has no exceptions but its rows.
 */
import { codeOf, folderOf, importsOf, isTest, type Source } from './source.ts'

export type Rule = (files: readonly Source[]) => string[]

/** Which folder under `src` may import which others; bottom to top. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  std: [],
  kernel: ['std'],
  journal: ['std'],
  http: ['std'],
  entity: ['std', 'kernel', 'journal'],
  broker: ['std', 'kernel', 'journal', 'http'],
  stock: ['std', 'kernel', 'entity', 'http'],
  probe: ['std', 'kernel', 'journal', 'entity', 'http'],
  steps: ['probe'], // what step definitions of a bundle import
  console: ['std', 'kernel', 'http', 'broker', 'stock', 'probe'],
  server: ['std', 'kernel', 'journal', 'entity', 'http', 'broker', 'stock', 'probe', 'console'],
  testkit: ['std', 'kernel', 'journal', 'entity', 'http'], // imported by tests and examples only
}

/** What holds a folder's workings to a model, or tests with them, and therefore looks at them from outside. */
const INSIDERS: Readonly<Record<string, string>> = {
  'test/kernel/': 'kernel',
  'test/journal/': 'journal',
  'test/entity/': 'entity',
  'test/stock/': 'stock',
  'test/probe/': 'probe',
  'test/acceptance/probe/': 'probe',
  'test/server/probe-ports': 'server',
  'test/sqs/': 'broker',
  'src/steps/': 'probe', // steps must not load the rest of it
  'src/testkit/given': 'entity',
  'src/testkit/replay': 'entity',
}

/** npm packages a folder may import; where no row grants one, there is none. */
const PACKAGES: readonly Readonly<{ name: string; folder: string; typeOnly: boolean }>[] = [
  { name: '@standard-schema/spec', folder: 'kernel', typeOnly: true },
  { name: '@standard-schema/spec', folder: 'broker', typeOnly: true },
  { name: 'commander', folder: 'server', typeOnly: false },
  { name: 'pino', folder: 'server', typeOnly: false },
  { name: 'yaml', folder: 'server', typeOnly: false },
  { name: 'yaml', folder: 'probe', typeOnly: false },
  { name: '@cucumber/cucumber', folder: 'steps', typeOnly: false },
  { name: '@cucumber/cucumber', folder: 'probe', typeOnly: false },
  { name: '@cucumber/cucumber/api', folder: 'probe', typeOnly: false },
  { name: '@cucumber/gherkin', folder: 'probe', typeOnly: false },
  { name: '@cucumber/tag-expressions', folder: 'probe', typeOnly: false },
  { name: 'yauzl', folder: 'probe', typeOnly: false },
  { name: 'yazl', folder: 'probe', typeOnly: false },
  { name: '@aws-sdk/client-s3', folder: 'probe', typeOnly: false },
  { name: 'kafkajs', folder: 'probe', typeOnly: false },
  { name: 'avsc', folder: 'probe', typeOnly: false },
  { name: 'protobufjs', folder: 'probe', typeOnly: false },
]

const TEST_PACKAGES: ReadonlySet<string> = new Set([
  'fast-check',
  '@cucumber/cucumber',
  '@cucumber/cucumber/api',
  '@aws-sdk/client-s3',
  '@aws-sdk/client-sqs',
  'client-sqs-query',
  'sqs-consumer',
  'sqs-producer',
])

/** What a tool is made of. */
const TOOL_PACKAGES: Readonly<Record<string, string>> = { 'tools/build.ts': 'esbuild' }

/** What reaches out of the program, and the only files that may. A row comes with its adapter. */
const REACHES: readonly Readonly<{ what: string; code: RegExp; granted: readonly string[] }>[] = [
  { what: 'Date', code: /\bDate\s*[.(]|\bnew\s+Date\b/, granted: ['src/std/clock.ts'] },
  { what: 'performance', code: /\bperformance\s*\./, granted: ['src/std/clock.ts'] },
  { what: 'process.hrtime', code: /\bprocess\s*\.\s*hrtime\b/, granted: [] },
  { what: 'setTimeout', code: /\bsetTimeout\b/, granted: ['src/std/clock.ts'] },
  { what: 'setInterval', code: /\bsetInterval\b/, granted: [] },
  { what: 'setImmediate', code: /\bsetImmediate\b/, granted: ['src/std/clock.ts'] },
  { what: 'process.nextTick', code: /\bnextTick\b/, granted: [] },
  { what: 'queueMicrotask', code: /\bqueueMicrotask\b/, granted: ['src/std/clock.ts'] },
  { what: 'Math.random', code: /\bMath\s*\.\s*random\b/, granted: [] },
  { what: 'crypto', code: /(?<![.\w$#])crypto\s*\./, granted: [] },
  {
    what: 'fetch',
    code: /(?<![.\w$#])fetch\s*\(/,
    granted: [
      'src/probe/steps/http-service.ts', // on behalf of steps
      'src/http/jwks.ts',
      'src/probe/secrets/vault.ts',
      'src/probe/events/kafka-tokens.ts',
      'src/probe/events/registry-http.ts',
      'src/probe/storage/storage.ts', // a method of that name, as in the two below
      'src/probe/storage/create-storage.ts',
      'src/probe/storage/s3.ts',
    ],
  },
]

/** Node's own modules: free to all, or granted to the files whose path begins so. */
const NODE_FREE: ReadonlySet<string> = new Set([
  'node:assert/strict',
  'node:async_hooks',
  'node:buffer',
  'node:diagnostics_channel',
  'node:events',
  'node:path',
  'node:url',
  'node:util',
])

const NODE_GRANTED: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['src/probe/runner/'],
  'node:crypto': [
    'src/std/random.ts',
    'src/journal/fingerprint.ts',
    'src/entity/internal/codec.ts',
    'src/http/auth.ts', // hashes of tokens
    'src/http/docs-page.ts', // what a page is known by
    'src/http/jwt.ts', // signatures
    'src/http/jwks.ts', // public keys
    'src/broker/sending.ts', // what a message is known by
    'src/broker/sqs/', // signatures, receipts and the MD5s that clients check
    'src/probe/secrets/file.ts', // the encrypted file
    'src/probe/storage/local.ts', // a name for what one test is writing
    'src/probe/evidence/', // what files are known by
  ],
  'node:fs': [
    'src/http/jwks.ts', // a key set in a file
    'src/server/',
    'src/journal/sqlite/',
    'src/probe/bundle/',
    'src/probe/storage/',
    'src/probe/secrets/',
    'src/probe/runner/',
    'src/probe/evidence/',
    'src/probe/events/', // schemas of a bundle, and events as evidence
    'src/kernel/internal/watchdog-thread.ts', // to stderr only
  ],
  'node:http': ['src/http/', 'src/server/asking-server.ts', 'src/stock/locations/transport.ts'],
  'node:https': ['src/stock/locations/transport.ts'],
  'node:inspector': ['src/kernel/internal/watchdog'],
  'node:module': [
    'src/server/main.ts', // compiled code is kept
    'src/probe/runner/', // where packages are, and which of them steps get
    'src/probe/evidence/reports-thread.ts',
  ],
  'node:net': ['src/http/connections.ts', 'src/server/', 'src/probe/runner/'],
  'node:os': [
    'src/journal/sqlite/opening.ts', // the name of the machine
    'src/server/doctor/data.ts',
    'src/probe/runner/', // where temporary files go
    'src/server/probe-feature.ts', // the same, for a server that keeps nothing
  ],
  'node:perf_hooks': ['src/server/metrics.ts'], // how late the loop is
  'node:sqlite': ['src/journal/sqlite/'],
  'node:readline': ['src/probe/evidence/reports-thread.ts'],
  'node:stream': [
    'src/http/inject.ts', // a pair of them in place of a network
    'src/probe/storage/',
    'src/probe/runner/',
    'src/probe/evidence/',
  ],
  'node:stream/consumers': ['src/http/inject.ts'],
  'node:stream/promises': ['src/probe/storage/', 'src/probe/evidence/'],
  'node:string_decoder': ['src/probe/runner/log-lines.ts'],
  'node:test': ['src/testkit/journal-conformance'], // it registers tests of whoever calls it
  'node:worker_threads': [
    'src/kernel/internal/watchdog',
    'src/journal/sqlite/',
    'src/probe/runner/',
    'src/probe/steps/asking.ts',
    'src/probe/evidence/',
  ],
  'node:zlib': ['src/journal/', 'src/testkit/', 'src/probe/storage/unzip.ts'], // crc32
}

const DRAWERS = /(?:^|\/)(?:utils?|helpers?|common|shared|misc|types|interfaces|constants)(?:\/|\.)/
const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)*\.ts$/

export const layers: Rule = (files) =>
  eachImport(files, ({ path }, { target }) => {
    const [from, to] = [folderOf(path), folderOf(target ?? path)]
    if (from === undefined || target === undefined || from === to) return undefined
    if (to === undefined) {
      const lawful = isTest(path) && target.startsWith('test/') // what tests share
      return lawful || !target.endsWith('.ts') ? undefined : `src may not import ${target}`
    }
    const allowed = MAY_IMPORT[from]
    if (allowed === undefined) return `the layer table has no row for ${from}`
    if (to === 'testkit' && isTest(path)) return undefined
    return allowed.includes(to) ? undefined : `${from} may not import ${to}`
  })

export const folders: Rule = (files) =>
  files
    .filter(({ path }) => path.startsWith('src/') && !((folderOf(path) ?? '') in MAY_IMPORT))
    .map(({ path }) => `${path}: is in no folder of the layer table`)

export const doors: Rule = (files) =>
  eachImport(files, ({ path }, { target }) => {
    const to = folderOf(target ?? '')
    if (to === undefined || to === folderOf(path) || target === `src/${to}/index.ts`)
      return undefined
    if (Object.entries(INSIDERS).some(([tests, of]) => path.startsWith(tests) && of === to))
      return undefined
    return `reaches past src/${to}/index.ts to ${target}`
  })

export const namedExports: Rule = (files) =>
  eachLine(files, ({ path }) => path.startsWith('src/'), /\bexport\s*\*/, 'exports by name, not *')

export const packages: Rule = (files) =>
  eachImport(files, ({ path }, { specifier, target, typeOnly }) => {
    if (target !== undefined || specifier.startsWith('node:') || path.startsWith('bench/'))
      return undefined
    if (isTest(path) && TEST_PACKAGES.has(specifier)) return undefined
    if (TOOL_PACKAGES[path] === specifier) return undefined
    const grant = PACKAGES.find(
      ({ name, folder }) => name === specifier && folder === folderOf(path),
    )
    if (grant === undefined) return `the package ${specifier} is not granted here`
    return grant.typeOnly && !typeOnly ? `${specifier} is granted for types only` : undefined
  })

export const reaches: Rule = (files) =>
  REACHES.flatMap(({ what, code, granted }) =>
    eachLine(
      files,
      ({ path }) => path.startsWith('src/') && !isTest(path) && !granted.includes(path),
      code,
      `${what} is not granted here`,
    ),
  )

export const nodeModules: Rule = (files) =>
  eachImport(files, ({ path }, { specifier }) => {
    if (!path.startsWith('src/') || isTest(path) || !specifier.startsWith('node:')) return undefined
    const granted = NODE_FREE.has(specifier)
      ? ['']
      : (NODE_GRANTED[specifier.replace(/^node:fs\/.*/, 'node:fs')] ?? [])
    return granted.some((prefix) => path.startsWith(prefix))
      ? undefined
      : `${specifier} is not granted here`
  })

/**
 * The ready queue registers and unregisters; why somebody waits, and for what, is not its business.
 * It could not use a function of those files without the import, but a type it could copy by name.
 */
export const readyQueue: Rule = (files) => {
  const secret = files.filter(({ path }) =>
    /^src\/kernel\/.*\b(?:suspension|conditions?|tokens)\.ts$/.test(path),
  )
  const types = secret.flatMap(({ text }) =>
    [...codeOf(text).matchAll(/\bexport\s+(?:type|interface|class)\s+(\w+)/g)].map(
      ([, name]) => name,
    ),
  )
  const words = ['\\w*[Rr]easons?', '\\w*[Cc]onditions?', 'resumeOn', ...types]
  const queue = files.filter(({ path }) => path === 'src/kernel/internal/ready-queue.ts')
  return [
    ...eachLine(
      queue,
      () => true,
      new RegExp(`\\b(?:${words.join('|')})\\b`),
      'the ready queue knows neither reasons nor conditions',
    ),
    ...eachImport(queue, (_, { target = '' }) =>
      /\b(?:suspension|conditions?|tokens)\.ts$/.test(target)
        ? `the ready queue may not import ${target}`
        : undefined,
    ),
  ]
}

/**
 * Actors of the orchestrator tell: a request carries its `replyTo`, and nobody waits for another. Only
 * what turns calls into messages asks.
 */
export const tellOnly: Rule = (files) =>
  files
    .filter(({ path }) => path.startsWith('src/probe/') && !isTest(path))
    .filter(({ path }) => path !== 'src/probe/create-probe.ts')
    .filter(({ text }) =>
      /\bimport\s*(?:\*|\{[^}]*\bask\b[^}]*\})[^'"]*['"][^'"]*\/kernel\//.test(text),
    )
    .map(({ path }) => `${path}: an actor of the orchestrator tells, it does not ask`)

export const testkit: Rule = (files) =>
  eachImport(files, ({ path }, { target }) => {
    if (folderOf(target ?? '') !== 'testkit' || folderOf(path) === 'testkit') return undefined
    return isTest(path) || path.startsWith('examples/')
      ? undefined
      : 'testkit is for tests and examples'
  })

export const sleepless: Rule = (files) => {
  const tests = files.filter(({ path }) => isTest(path))
  const sleep = /\b(?:setTimeout|setInterval|sleep)\s*\(|\bAtomics\s*\.\s*wait\s*\(/
  return [
    ...eachLine(tests, () => true, sleep, 'a test turns the clock, it does not sleep'),
    ...eachImport(tests, (_, { specifier }) =>
      /^node:timers(?:\/|$)/.test(specifier)
        ? 'a test turns the clock, it does not sleep'
        : undefined,
    ),
  ]
}

// A test that finds at run time that it cannot run may say so with t.skip(reason); CI fails on it.
export const switchedOn: Rule = (files) =>
  eachLine(
    files,
    ({ path }) => isTest(path),
    /\b(?:test|it|describe|suite)\s*\.\s*(?:only|skip|todo)\b|\b(?:only|skip|todo)\s*:\s*true\b/,
    'a test is switched off, or switches off others',
  )

export const names: Rule = (files) =>
  files.flatMap(({ path }) => {
    const findings: string[] = []
    if (!KEBAB.test(path.split('/').at(-1)!))
      findings.push(`${path}: a file is named in kebab-case`)
    if (path.startsWith('src/') && DRAWERS.test(path))
      findings.push(`${path}: is a drawer, not a thing`)
    return findings
  })

/** Files under `src` and `tools` that nobody imports and that are neither door, entry nor test. */
export function orphans(files: readonly Source[], entries: readonly string[]): string[] {
  const imported = new Set(
    files.flatMap((file) =>
      importsOf(file)
        .map(({ target }) => target)
        .filter((target) => target !== file.path),
    ),
  )
  return files
    .map(({ path }) => path)
    .filter((path) => path.startsWith('src/') || path.startsWith('tools/'))
    .filter((path) => !isTest(path) && !/^src\/[^/]+\/index\.ts$/.test(path))
    .filter((path) => !imported.has(path) && !entries.includes(path))
    .map((path) => `${path}: is imported by nobody`)
}

function eachImport(
  files: readonly Source[],
  judge: (file: Source, found: ReturnType<typeof importsOf>[number]) => string | undefined,
): string[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap((found) => {
      const finding = judge(file, found)
      return finding === undefined ? [] : [`${file.path}: ${finding}`]
    }),
  )
}

function eachLine(
  files: readonly Source[],
  applies: (file: Source) => boolean,
  pattern: RegExp,
  finding: string,
): string[] {
  return files.filter(applies).flatMap(({ path, text }) =>
    codeOf(text)
      .split('\n')
      .flatMap((line, n) => (pattern.test(line) ? [`${path}:${n + 1}: ${finding}`] : [])),
  )
}
