/**
 * Why step definitions cannot be loaded, for whoever wrote them: file, line and reason in one line, as a
 * compiler would say it, with the whole error below.
 *
 * Node says where it stumbled in the stack, or only which file asked for a package that is not there: the
 * line is looked up then. Of JavaScript that it cannot parse it says neither, so the files are parsed once
 * more. An error that names no file of the bundle is told without one.
 */
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { fault } from '../../std/index.ts'
import type { RunnerFault } from './runner.ts'

export type LoadedSteps = Readonly<{
  /** The bundle; its files are named relative to it. */
  directory: string
  globs: readonly string[]
}>

export function loadError(error: unknown, steps: LoadedSteps): string {
  const text = asWritten(stackOf(error), steps)
  const place = placeIn(text, steps)
  if (place !== '' || !(error instanceof SyntaxError)) return `${place}${reasonIn(text)}\n${text}`
  const parsed = asWritten(parseError(steps), steps)
  return `${placeIn(parsed, steps)}${reasonIn(text)}\n${parsed}${text}`
}

/** Of such an error that has come from the process of a run. */
export function badSteps(error: string): RunnerFault {
  const [reason = ''] = error.split('\n', 1)
  const words = reason.slice(0, REASON_CHARACTERS)
  return fault('bad-steps', `the step definitions cannot be loaded: ${words}`, {
    error,
    remedy: 'correct the file; run.log in the evidence has the whole error',
  })
}

export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : `\ncaused by ${stackOf(error.cause)}`
  return `${error.stack ?? error.message}${cause}`
}

const REASON_CHARACTERS = 500
const FILE = String.raw`[^\s:/()'"][^:\n()'"]*\.[cm]?[jt]s`
const PLACE = new RegExp(String.raw`(?:^|\(| at )(${FILE}):(\d+)`, 'm')
const ASKED = new RegExp(String.raw`'([^'\n]+)' imported from (${FILE})$`, 'm')

function asWritten(text: string, { directory }: LoadedSteps): string {
  return text.replaceAll(`${pathToFileURL(directory).href}/`, '').replaceAll(`${directory}/`, '')
}

function placeIn(text: string, { directory }: LoadedSteps): string {
  const [, file, line] = PLACE.exec(text) ?? []
  if (file !== undefined) return `${file}:${line}: `
  const [, wanted = '', by] = ASKED.exec(text) ?? []
  if (by === undefined) return ''
  const lines = contentOf(join(directory, by)).split('\n')
  const at = lines.findIndex((each) => /['"`]/.test(each) && each.includes(wanted))
  return at === -1 ? `${by}: ` : `${by}:${at + 1}: `
}

/** The first line that says what kind of error it is; before it there may be a piece of the file. */
function reasonIn(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.find((line) => /^\w*(?:Error|Exception)\b.*: \S/.test(line)) ?? lines[0] ?? ''
}

function parseError({ directory, globs }: LoadedSteps): string {
  for (const name of globSync([...globs], { cwd: directory }))
    try {
      stripTypeScriptTypes(contentOf(join(directory, name)), { sourceUrl: name })
    } catch (error) {
      return `${stackOf(error)}\n`
    }
  return ''
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
