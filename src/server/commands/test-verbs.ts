/** `run`, the verbs of `test` and those of `secret`: what each takes. What they do is loaded when one is asked for. */
import { InvalidArgumentError, type Command } from 'commander'

import type { QueueVerbs } from './queue-verbs.ts'
import type * as testWork from './test.ts'
import type { TestCall } from './test.ts'

type Work = typeof testWork
type Given = Readonly<Partial<Record<string, unknown>>>

type Verb = Readonly<{
  usage: string
  description: string
  options: readonly (readonly [
    flags: string,
    description: string,
    read?: (text: string) => number,
  ])[]
  run: (work: Work, call: TestCall, given: Given, word: string) => Promise<number>
}>

const VERBS: readonly Verb[] = [
  {
    usage: 'start <bundle>',
    description: 'queue a bundle: a directory, which is sent, or a path that the server can fetch',
    options: [
      ['--type <text>', 'what kind of test it is'],
      ['--tags <expression>', 'scenarios with these tags'],
      ['--priority <number>', 'from 0 to 9, higher first', whole],
      ['--wait', 'wait until it has ended, and end as run does'],
    ],
    run: (work, call, { type, tags, priority, wait }, place) =>
      work.startTest(call, place, { type, tags, priority, waits: wait === true }),
  },
  {
    usage: 'status <test>',
    description: 'where a test is, and what came of it',
    options: [],
    run: (work, call, _given, id) => work.showTest(call, id),
  },
  {
    usage: 'cancel <test>',
    description: 'end a test, wherever it is',
    options: [],
    run: (work, call, _given, id) => work.cancelTest(call, id),
  },
  {
    usage: 'list',
    description: 'tests, the latest first',
    options: [
      ['--state <state>', 'those in it: Setup, Loading, Loaded, Testing, Completed or Exception'],
      [
        '--outcome <outcome>',
        'those that ended so: passed, failed, errored, cancelled, timed-out or interrupted',
      ],
      ['--text <text>', 'those that have it in them'],
      ['--limit <number>', 'how many; 50 otherwise', whole],
      ['--after <cursor>', 'those behind a page that was shown, which names it'],
    ],
    run: (work, call, { state, outcome, text, limit, after }) =>
      work.listTests(call, { state, outcome, text, after, ...(limit !== undefined && { limit }) }),
  },
  {
    usage: 'watch <test>',
    description: 'show how a test goes until it has ended, and end as run does',
    options: [],
    run: (work, call, _given, id) => work.watchTest(call, id),
  },
  {
    usage: 'evidence <test>',
    description: 'list what is kept of a run, or bring it here',
    options: [['--into <directory>', 'where its files are written to']],
    run: async (_work, call, { into }, id) => {
      const { showEvidence } = await import('./test-evidence.ts')
      return showEvidence(call, id, into)
    },
  },
]

export function addTestVerbs<Options>(
  program: Command,
  { io, keeping, asked, end }: QueueVerbs<Options>,
): void {
  keeping(program.command('run <bundle>'))
    .description('run a bundle here, without a server; the report is in its evidence')
    .option('--tags <expression>', 'scenarios with these tags')
    .option('--dry-run', 'see that every step has a definition, and run none')
    .action(async (bundle: string, options: Options & Given) => {
      const { runBundle } = await import('./run.ts')
      const { tags, dryRun } = options
      const chosen = {
        ...(typeof tags === 'string' && { tags }),
        ...(dryRun === true && { dryRun }),
      }
      end(await runBundle(await asked(options), bundle, chosen, io))
    })
  const test = program.command('test').description('work with the tests of a running server')
  keeping(test.command('validate <bundle>'))
    .description('say what is wrong with a bundle but its steps; no server is needed')
    .action(async (bundle: string, options: Options) => {
      const { validateBundle } = await import('./test.ts')
      const { json } = await asked(options)
      end(await validateBundle({ json, io }, bundle))
    })
  for (const { usage, description, options, run } of VERBS) {
    const command = keeping(test.command(usage))
      .description(description)
      .option('--url <url>', 'the server; otherwise the one that has the data, or listens there')
    for (const [flags, says, read] of options)
      if (read === undefined) command.option(flags, says)
      else command.option(flags, says, read)
    command.action(async (...args: unknown[]) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- arguments, options, the command
      const given = args.at(-2) as Options & Given
      const [word] = args
      await ask(given, run, typeof word === 'string' ? word : '')
    })
  }

  const secret = program.command('secret').description('look after the encrypted file of secrets')
  keeping(secret.command('put <name>'))
    .description('write a secret; a value that is there is replaced')
    .requiredOption('--from <file>', 'a JSON object of its fields; /dev/stdin for a pipe')
    .action(async (name: string, options: Options & Given) => {
      const { writeSecret } = await import('./secret.ts')
      end(await writeSecret(await asked(options), name, String(options['from']), io))
    })
  keeping(secret.command('list'))
    .description('list secrets with their fields; values are nobody’s to see')
    .action(async (options: Options) => {
      const { showSecrets } = await import('./secret.ts')
      end(await showSecrets(await asked(options), io))
    })
  keeping(secret.command('remove <name>'))
    .description('remove a secret')
    .action(async (name: string, options: Options) => {
      const { dropSecret } = await import('./secret.ts')
      end(await dropSecret(await asked(options), name, io))
    })

  async function ask(given: Options & Given, run: Verb['run'], word: string): Promise<void> {
    const [work, { queueServer }] = await Promise.all([
      import('./test.ts'),
      import('./queue-server.ts'),
    ])
    const told = await asked(given)
    const { url } = given
    const server = queueServer(told, typeof url === 'string' ? { url } : {}, io)
    end(await run(work, { server, json: told.json, io }, given, word))
  }
}

function whole(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}
