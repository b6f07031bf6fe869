/**
 * The command line: which verbs there are, what each takes, and what the process ends with. What a verb
 * does is in `commands/`, a file each, loaded when it is asked for.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Command, CommanderError, Option } from 'commander'

import { Accident, PRODUCT, systemClock, type Fault } from '../std/index.ts'
import { addQueueVerbs } from './commands/queue-verbs.ts'
import { addTestVerbs } from './commands/test-verbs.ts'
import { loadConfig, type ConfigSources, type Loaded } from './config.ts'
import { EXIT, quoted, type Io } from './io.ts'

/** What every verb knows beside its own arguments. */
export type Asked = Readonly<{
  config: Loaded
  /** For machines: one JSON value on standard output, and nothing else. */
  json: boolean
}>

type Options = Readonly<{
  config?: string
  set?: readonly string[]
  host?: string
  port?: string
  data?: string
  memory?: boolean
  logLevel?: string
  pretty?: boolean
  json?: boolean
}>

const DEVELOPMENT_HINT =
  'for development: --data keeps what is written, and `node --watch` starts it anew when a file changes'

/** What is wrong with what was asked for, not with the world. */
const MISTAKES: ReadonlySet<string> = new Set([
  'bad-bundle',
  'bad-config',
  'bad-locations',
  'bad-policy',
  'bad-test-request',
  'bad-usage',
  'open-to-all',
  'unreadable-file',
])

/** Runs the command this process was started with. */
export async function runProcess(): Promise<void> {
  process.exitCode = await run(process.argv.slice(2), processIo())
}

/** Answers what the process ends with. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  let code: number = EXIT.fine
  const program = programFor(io, (exitCode) => {
    code = exitCode
  })
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.usage
    if (!(error instanceof Accident)) throw error
    const { code: reason } = error.fault
    if (args.includes('--json')) io.out(`${JSON.stringify(error.fault)}\n`)
    else io.err(`${await textOf(error.fault)}\n`)
    return MISTAKES.has(reason) ? EXIT.usage : EXIT.trouble
  }
}

export function programFor(io: Io, end: (code: number) => void): Command {
  const program = new Command(PRODUCT)
    .description('Durable actors: the server, and what looks after its data.')
    .version(io.versions.product, '-v, --version')
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .helpCommand(false)
    .exitOverride()
  program.addHelpText('after', `\nExit codes: ${exitCodes()}.\nMore: docs/reference/cli.md`)

  serving(program.command('serve'))
    .description('serve until a signal ends it; a second signal ends it at once')
    .action(async (options: Options) => {
      const { serve } = await import('./commands/serve.ts')
      end(await serve(await asked(options), io))
    })
  serving(program.command('dev'))
    .description('serve for development: in memory unless --data is given, with a log for people')
    .action(async (options: Options) => {
      const { serve } = await import('./commands/serve.ts')
      end(await serve(await asked(forDevelopment(options)), io, DEVELOPMENT_HINT))
    })
  const config = program.command('config').description('what the server would be told')
  serving(config.command('print'))
    .description('print every setting, and where it was given; secrets are left out')
    .action(async (options: Options) => {
      const { printConfig } = await import('./commands/config-print.ts')
      end(await printConfig(await asked(options), io))
    })
  serving(program.command('doctor'))
    .description('look at everything the server needs, and say what to do about what is wrong')
    .action(async (options: Options) => {
      const { doctor } = await import('./commands/doctor.ts')
      end(await doctor(sourcesOf(options, io), options.json ?? false, io))
    })
  keeping(program.command('verify [directory]'))
    .description('look for damage in a data directory that nobody uses')
    .action(async (directory: string | undefined, options: Options) => {
      const { verify } = await import('./commands/verify.ts')
      end(await verify(await asked(withData(options, directory)), io))
    })
  keeping(program.command('repair [directory] [into]'))
    .description('keep all that is intact; what was there is kept beside it')
    .action(async (directory: string | undefined, into: string | undefined, options: Options) => {
      const { repair } = await import('./commands/repair.ts')
      end(await repair(await asked(withData(options, directory)), into, io))
    })
  keeping(program.command('backup <target>'))
    .description('copy the data to a directory that is not there yet, also while the server runs')
    .action(async (target: string, options: Options) => {
      const { backup } = await import('./commands/backup.ts')
      end(await backup(await asked(options), target, io))
    })
  keeping(program.command('restore <backup> [directory]'))
    .description('make a data directory out of a backup; it must be empty or not there')
    .action(async (from: string, directory: string | undefined, options: Options) => {
      const { restore } = await import('./commands/restore.ts')
      end(await restore(await asked(withData(options, directory)), from, io))
    })
  addQueueVerbs<Options>(program, { io, keeping, asked, end })
  addTestVerbs<Options>(program, { io, keeping, asked, end })
  return program

  async function asked(options: Options): Promise<Asked> {
    return { config: await loadConfig(sourcesOf(options, io)), json: options.json ?? false }
  }
}

function sourcesOf(options: Options, { directory, environment }: Io): ConfigSources {
  return { file: options.config, directory, environment, flags: flagsOf(options) }
}

/** Every verb with the options it has, for those who document them. */
export function verbsOf(): ReadonlyMap<string, readonly string[]> {
  const verbs = new Map<string, readonly string[]>()
  collect(programFor({ ...processIo(), out: ignore, err: ignore }, ignore).commands, '')
  return verbs

  function collect(commands: readonly Command[], before: string): void {
    for (const command of commands) {
      const name = `${before}${command.name()}`
      if (command.commands.length > 0) collect(command.commands, `${name} `)
      else
        verbs.set(
          name,
          command.options.map(({ long }) => long ?? ''),
        )
    }
  }
}

function ignore(): void {}

/** Settings by the flags that give them. */
const SHORT: readonly Readonly<{ option: 'host' | 'port' | 'data' | 'logLevel'; name: string }>[] =
  [
    { option: 'host', name: 'listen.host' },
    { option: 'port', name: 'listen.port' },
    { option: 'data', name: 'data.directory' },
    { option: 'logLevel', name: 'log.level' },
  ]

function flagsOf(options: Options): ConfigSources['flags'] {
  const short = SHORT.flatMap(({ option, name }) => {
    const value = options[option]
    const flag = `--${option.replace('L', '-l')}`
    return value === undefined ? [] : [{ name, value, flag }]
  })
  const set = (options.set ?? []).map((pair) => {
    const [name = '', ...rest] = pair.split('=')
    return { name, value: rest.join('='), flag: `--set ${name}` }
  })
  return [
    ...short,
    ...(options.memory === true
      ? [{ name: 'data.directory', value: 'memory', flag: '--memory' }]
      : []),
    ...(options.pretty === true ? [{ name: 'log.format', value: 'pretty', flag: '--pretty' }] : []),
    ...set,
  ]
}

function serving(command: Command): Command {
  return keeping(command)
    .option('--host <address>', 'listen.host: where to listen')
    .option('--port <number>', 'listen.port: 0 takes any that is free')
    .addOption(new Option('--memory', 'data.directory: keep nothing').conflicts('data'))
    .option('--log-level <level>', 'log.level: debug, info, warn or error')
    .option('--pretty', 'log.format: a log for people')
}

function keeping(command: Command): Command {
  return command
    .option('--config <file>', `the config file; otherwise ${PRODUCT}.yaml where there is one`)
    .option('--data <directory>', 'data.directory: where everything is kept')
    .option('--set <key=value...>', 'any setting, as often as needed')
    .option('--json', 'for machines')
}

function withData(options: Options, directory: string | undefined): Options {
  return directory === undefined ? options : { ...options, data: directory }
}

function forDevelopment(options: Options): Options {
  const isPretty = options.json !== true
  return { ...options, ...(options.data === undefined && { memory: true }), pretty: isPretty }
}

/** The reason, and what to do about it. */
async function textOf(refusal: Fault): Promise<string> {
  const { code, message, detail } = refusal
  const { problems, findings, remedy } = detail
  if (Array.isArray(findings)) {
    const { findingLines } = await import('./commands/test-text.ts')
    return [`${code}: the bundle is refused`, ...findingLines(refusal)].join('\n  ')
  }
  const lines = Array.isArray(problems)
    ? ['the config is refused', ...problems.map((each) => `  ${problemText(each)}`)]
    : [message]
  if (typeof remedy === 'string') lines.push(`what to do: ${remedy}`)
  return `${code}: ${lines.join('\n')}`
}

function problemText({ place, key, problem }: Readonly<Record<string, unknown>>): string {
  return [place, key, problem].filter((part) => part !== '').join(': ')
}

function exitCodes(): string {
  return (
    `${EXIT.fine} fine, ${EXIT.trouble} trouble was found, ${EXIT.usage} asked for wrongly, ` +
    `${EXIT.failed} the disk failed, ${EXIT.interrupted} or ${EXIT.ended} ended by a signal`
  )
}

function processIo(): Io {
  // The same distance from src/server and from dist/server, where the command is bundled.
  const manifest = new URL('../../package.json', import.meta.url)
  const { version }: { version: string } = JSON.parse(readFileSync(manifest, 'utf8'))
  const file = process.argv[1] ?? PRODUCT
  // Whoever reads may leave when it has seen enough.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  return {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    isWatched: process.stderr.isTTY,
    environment: process.env,
    directory: process.cwd(),
    clock: systemClock,
    self: basename(file) === PRODUCT ? PRODUCT : `${quoted(process.execPath)} ${quoted(file)}`,
    versions: { product: version, node: process.version },
  }
}
