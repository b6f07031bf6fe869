/**
 * The command line that a run is started by, with bubblewrap around it or without.
 *
 * In the sandbox there is Node, the packages it runs on and the bundle, all of them read-only, a `/tmp`
 * of its own, and nothing else: no other file of the machine, no process, no capability, and no network
 * unless the bundle asks for one. `/proc` is read-only as well, because a server that runs as root
 * would lend the run its right to write there.
 */
import { dirname, join, sep } from 'node:path'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

import { PRODUCT } from '../../std/index.ts'
import { asBuilt } from '../as-built.ts'
import type { Isolation } from './runner.ts'

export type CommandOptions = Readonly<{
  isolation: Isolation
  bubblewrap: string
  /** On this machine. */
  bundle: string
  /** Where the run may write; in the sandbox it has a place of its own instead. */
  temporary: string
  hasNetwork: boolean
  memoryBytes: number
  /** Threads that run scenarios. */
  parallel: number
  testId: string
  /** What all processes of this run are known by. */
  mark: string
}>

export type Command = Readonly<{
  program: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  /** Where the bundle is, as the run sees it. */
  bundle: string
}>

/** The variable of the environment by which the processes of a run are found. */
export const MARK = 'FLYTOWER_RUN'

const SANDBOX_BUNDLE = '/bundle'
const TEMPORARY_BYTES = 268_435_456
const FILES_OPEN = 1_024

// V8 sets this much aside for the code of every thread, and the kernel counts it as data.
const CODE_RANGE_BYTES = 671_088_640

const LIBRARIES = [
  '/usr/lib',
  '/usr/lib64',
  '/lib',
  '/lib64',
  '/etc/ld.so.cache',
  '/etc/alternatives',
]
const NETWORK_FILES = [
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/ssl',
  '/etc/pki',
]

const RESOLUTION = fileURLToPath(asBuilt(new URL('./resolution.ts', import.meta.url)))
const CHILD = fileURLToPath(asBuilt(new URL('./child.ts', import.meta.url)))

/** `src`, or `dist` where it is built. */
export const CODE: string = join(import.meta.dirname, '..', '..')

/** Shows whether the sandbox can be built on this machine. */
export function trialOf(options: CommandOptions): Command {
  const { program, args, ...rest } = commandOf({ ...options, isolation: 'sandbox' })
  return {
    ...rest,
    program,
    args: [...args.slice(0, args.lastIndexOf(process.execPath) + 1), '-v'],
  }
}

/** What a run is done with. */
export function versions(): Readonly<Record<string, string>> {
  return {
    node: process.versions.node,
    cucumber: versionIn('@cucumber/cucumber/package.json'),
    [PRODUCT]: versionIn(join(CODE, '..', 'package.json')),
  }
}

export function commandOf(options: CommandOptions): Command {
  const { isolation, memoryBytes } = options
  const node = [
    `--max-old-space-size=${Math.floor(memoryBytes / 1_048_576)}`,
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
    '--import',
    RESOLUTION,
    CHILD,
  ]
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LANG: 'C.UTF-8',
    HOME: isolation === 'sandbox' ? '/tmp' : options.temporary,
    TMPDIR: isolation === 'sandbox' ? '/tmp' : options.temporary,
    FLYTOWER_TEST_ID: options.testId,
    [MARK]: options.mark,
  }
  if (isolation === 'process')
    return { program: process.execPath, args: node, env, bundle: options.bundle }
  return {
    program: 'prlimit',
    args: [...limitsOf(options), options.bubblewrap, ...walls(options), process.execPath, ...node],
    env,
    bundle: SANDBOX_BUNDLE,
  }
}

function limitsOf({ memoryBytes, parallel }: CommandOptions): readonly string[] {
  return [
    '--core=0',
    `--nofile=${FILES_OPEN}`,
    `--fsize=${TEMPORARY_BYTES}`,
    `--data=${memoryBytes + (2 + parallel) * CODE_RANGE_BYTES}`,
    '--',
  ]
}

function walls({ bundle, hasNetwork }: CommandOptions): readonly string[] {
  return [
    '--unshare-all',
    ...(hasNetwork ? ['--share-net'] : []),
    '--size',
    String(TEMPORARY_BYTES),
    '--tmpfs',
    '/tmp',
    ...shown(LIBRARIES),
    ...(hasNetwork ? shown(NETWORK_FILES) : []),
    ...shown([process.execPath, CODE, ...packages()]),
    '--ro-bind',
    bundle,
    SANDBOX_BUNDLE,
    '--proc',
    '/proc',
    '--remount-ro',
    '/proc',
    '--dev',
    '/dev',
    '--remount-ro',
    '/dev',
    '--remount-ro',
    '/',
    '--chdir',
    SANDBOX_BUNDLE,
    '--hostname',
    'sandbox',
    '--cap-drop',
    'ALL',
    '--die-with-parent',
    '--new-session',
  ]
}

function versionIn(manifest: string): string {
  const { version }: { version: string } = createRequire(import.meta.url)(manifest)
  return version
}

function shown(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => ['--ro-bind-try', path, path])
}

/**
 * The folders of packages that the run looks into: those on the way up from the code, and the outermost
 * one that Cucumber is really in, since packages refer to each other there. A link to a folder is a
 * folder in the sandbox.
 */
function packages(): readonly string[] {
  const { resolve } = createRequire(import.meta.url)
  const cucumber = dirname(resolve('@cucumber/cucumber')).split(sep)
  const above = (resolve.paths('@cucumber/cucumber') ?? []).filter((path) =>
    CODE.startsWith(dirname(path)),
  )
  return [
    cucumber.slice(0, cucumber.indexOf('node_modules') + 1).join(sep),
    ...above,
    join(CODE, '..', 'package.json'),
  ]
}
