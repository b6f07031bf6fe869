/**
 * The process of a run: takes its job from the runner, lets Cucumber run it, and tells the runner
 * every message of Cucumber's and everything that steps ask for.
 *
 * It holds nothing that steps must not see, because steps are in here with it. It ends itself as soon
 * as the run has, whatever steps have left open, and with its runner, even when a step loops.
 */
import { Socket } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { BroadcastChannel, Worker } from 'node:worker_threads'

import { loadConfiguration, loadSupport, runCucumber } from '@cucumber/cucumber/api'

import { asBuilt } from '../as-built.ts'
import { STEPS_CHANNEL, type StepsLine } from '../steps/asking.ts'
import { CHANNEL_FD, lineReader, written, type Heard, type Told } from './channel.ts'
import { loadError, stackOf } from './load-error.ts'

type Job = Extract<Told, { type: 'job' }>
type Envelope = Parameters<NonNullable<Parameters<typeof runCucumber>[2]>>[0]

const BUILT_IN = [
  new URL('../steps/event-steps.ts', import.meta.url),
  new URL('../steps/receiving-steps.ts', import.meta.url),
  new URL('../steps/other-steps.ts', import.meta.url),
].map((file) => fileURLToPath(asBuilt(file)))

const exit = process.exit.bind(process)
const socket = new Socket({ fd: CHANNEL_FD })
const steps = new BroadcastChannel(STEPS_CHANNEL)
steps.unref()
const lifeline = new Worker(asBuilt(new URL('./lifeline.ts', import.meta.url)), { execArgv: [] })
lifeline.unref()

steps.addEventListener('message', (event) => {
  if (!(event instanceof MessageEvent)) return
  const line: StepsLine = event.data
  if (line.type === 'call') tell(line)
})
socket.on('error', () => exit(1)).on('end', () => exit(1))

const job = await new Promise<Job>((resolve) => {
  const read = lineReader((text) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the runner writes
    const told = JSON.parse(text) as Told
    if (told.type === 'job') resolve(told)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
    else steps.postMessage(told)
  })
  socket.on('data', read)
})
await run(job)
tell({ type: 'end' })
socket.end(() => exit(0))

async function run({ directory, features, steps: globs, ...options }: Job): Promise<void> {
  const environment = { cwd: directory, stdout: nowhere(), stderr: process.stderr }
  const provided = {
    paths: features.map((feature) => join(directory, feature).replaceAll(/[*?[{(@!+]/g, '[$&]')),
    import: [...BUILT_IN, ...globs],
    tags: options.tags,
    dryRun: options.isDryRun,
    parallel: options.parallel > 1 ? options.parallel : 0,
    retry: options.retries,
    worldParameters: { testId: options.testId },
    publish: false,
  }
  try {
    const { runConfiguration } = await loadConfiguration({ file: false, provided }, environment)
    const support = await loadSupport(runConfiguration, environment).catch((error: unknown) => {
      tell({ type: 'bad-steps', message: loadError(error, { directory, globs }) })
    })
    if (support === undefined) return
    await runCucumber({ ...runConfiguration, support }, environment, (envelope) =>
      tell({ type: 'message', envelope: { ...matched(envelope) } }),
    )
  } catch (error) {
    tell({ type: 'refused', message: stackOf(error) })
  }
}

/** A group that took no part in a match has no place in its step: reports would show the whole step for it. */
function matched(envelope: Envelope): Envelope {
  const { testCase } = envelope
  if (testCase === undefined) return envelope
  const testSteps = testCase.testSteps.map((step) => {
    if (step.stepMatchArgumentsLists === undefined) return step
    const stepMatchArgumentsLists = step.stepMatchArgumentsLists.map((list) => ({
      stepMatchArguments: list.stepMatchArguments.filter(({ group }) => group.start !== undefined),
    }))
    return { ...step, stepMatchArgumentsLists }
  })
  return { testCase: { ...testCase, testSteps } }
}

function tell(line: Heard): void {
  socket.write(written(line))
}

/** What Cucumber says for people; the runner makes its own of it. */
function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}
