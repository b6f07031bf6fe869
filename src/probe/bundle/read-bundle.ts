/**
 * Reads and checks a bundle that lies in a directory of this machine.
 *
 *   features/             at least one `*.feature`, at any depth
 *   topic-directive.yaml  may be left out when there are no topics
 *   steps/                step definitions, unless the directive names others
 *
 * Nothing of a bundle is run or imported here. Everything that is wrong is told at once.
 */
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'

import { nearest } from '../../http/index.ts'
import type { BundleLimits } from '../storage/storage.ts'
import type { Bundle, Directive } from './directive.ts'
import {
  DIRECTIVE_BYTES_MAX,
  DIRECTIVE_FILE,
  directiveDefaults,
  readDirective,
  type ReadDirective,
} from './directive-file.ts'
import { nameProblem, shownName } from './file-name.ts'
import {
  BUNDLE_LINES_MAX,
  FEATURE_BYTES_MAX,
  FEATURE_LINES_MAX,
  featureChecker,
  FEATURES_MAX,
  isFeature,
} from './features.ts'
import { filesBelow, type FoundFile, type FoundFiles } from './files.ts'
import { badBundle, type BundleFault, type Finding } from './finding.ts'

/** What a bundle may have, unless a server is told otherwise. */
export const BUNDLE_LIMITS_DEFAULT: BundleLimits = {
  files: 10_000,
  fileBytes: 67_108_864,
  totalBytes: 268_435_456,
}

const FEATURES = 'features/'

export async function readBundle(
  directory: string,
  limits: BundleLimits = BUNDLE_LIMITS_DEFAULT,
): Promise<Bundle | BundleFault> {
  const found = await filesBelow(directory, limits.files).catch((error: unknown) =>
    unreadable(error, directory),
  )
  if (!('files' in found)) return badBundle([found])
  const tooLarge = sizeFindings(found, limits)
  if (tooLarge.length > 0) return badBundle([...tooLarge, ...refusals(found)])

  const features = found.files.filter(({ name }) => name.startsWith(FEATURES) && isFeature(name))
  const read = await directiveIn(directory, found.files)
  const findings = [
    ...refusals(found),
    ...read.findings,
    ...placeFindings(found.files, features),
    ...(await tagFindings(read)),
    ...referenceFindings(read, found.files),
    ...(await featureFindings(directory, features)),
  ]
  if (findings.length > 0) return badBundle(findings)
  return {
    directory,
    directive: read.directive,
    features: features.map(({ name }) => name),
  }
}

function unreadable(error: unknown, directory: string): Finding {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'ENOENT':
      return about(shownName(directory), 'there is no such directory', 'mend the path')
    case 'ENOTDIR':
      return about(
        shownName(directory),
        'it is no directory',
        'name the directory that has features/ in it',
      )
    case 'EACCES':
      return about(shownName(directory), 'it may not be read', 'allow yourself to read it')
    default:
      throw error
  }
}

function sizeFindings({ files, isCut }: FoundFiles, limits: BundleLimits): Finding[] {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  return [
    ...(isCut
      ? [about('.', `there are more than ${limits.files} files`, 'put less into the bundle')]
      : []),
    ...(total > limits.totalBytes ? [tooMuch('.', total, 'bytes', limits.totalBytes)] : []),
    ...files
      .filter(({ bytes }) => bytes > limits.fileBytes)
      .map(({ name, bytes }) => tooMuch(name, bytes, 'bytes', limits.fileBytes)),
  ]
}

function refusals({ refused }: FoundFiles): Finding[] {
  return refused.map(({ name, why }) =>
    about(shownName(name), why, 'a bundle has plain files and directories only'),
  )
}

async function directiveIn(directory: string, files: readonly FoundFile[]): Promise<ReadDirective> {
  const file = files.find(({ name }) => name === DIRECTIVE_FILE)
  if (file === undefined) return nothingRead(misnamed(files))
  if (file.bytes > DIRECTIVE_BYTES_MAX)
    return nothingRead([tooMuch(DIRECTIVE_FILE, file.bytes, 'bytes', DIRECTIVE_BYTES_MAX)])
  const text = utf8(await readFile(join(directory, DIRECTIVE_FILE)))
  return text === undefined ? nothingRead([notText(DIRECTIVE_FILE)]) : readDirective(text)
}

function nothingRead(findings: readonly Finding[]): ReadDirective {
  return { directive: directiveDefaults, findings, lineOf: () => undefined }
}

/** A directive file under another name would be overlooked without a word. */
function misnamed(files: readonly FoundFile[]): Finding[] {
  const meant = files
    .map(({ name }) => name)
    .filter((name) => /^[^/]+\.ya?ml$/i.test(name))
    .find((name) => nearest(name, [DIRECTIVE_FILE]) !== undefined)
  return meant === undefined
    ? []
    : [about(meant, 'it is not read under this name', `name it ${DIRECTIVE_FILE}`)]
}

function placeFindings(
  files: readonly FoundFile[],
  features: readonly FoundFile[],
): readonly Finding[] {
  const astray = files
    .filter(({ name }) => isFeature(name) && !name.startsWith(FEATURES))
    .map(({ name }) => about(name, 'a feature here is not run', 'move it below features/'))
  if (astray.length > 0) return astray
  if (features.length === 0)
    return [about(FEATURES, 'there is no *.feature file', 'put your features below features/')]
  if (features.length > FEATURES_MAX)
    return [tooMuch(FEATURES, features.length, 'features', FEATURES_MAX)]
  return []
}

async function tagFindings({ directive: { tags }, lineOf }: ReadDirective): Promise<Finding[]> {
  const problem = tags === undefined ? undefined : await tagsProblem(tags)
  if (problem === undefined) return []
  return [
    {
      file: DIRECTIVE_FILE,
      line: lineOf('tags'),
      message: `tags is no tag expression: ${problem}`,
      remedy: TAGS_REMEDY,
    },
  ]
}

export const TAGS_REMEDY = 'write one such as "@smoke and not @slow"'

/** What is wrong with a tag expression, of a directive or of a start request; undefined when nothing is. */
export async function tagsProblem(tags: string): Promise<string | undefined> {
  const { default: parse } = await import('@cucumber/tag-expressions')
  try {
    parse(tags)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error)
  }
}

/** What the directive names has to be in the bundle. */
function referenceFindings(
  { directive, lineOf }: ReadDirective,
  files: readonly FoundFile[],
): Finding[] {
  return [
    ...directive.topics.flatMap(({ schema, line }) =>
      schema === undefined || files.some(({ name }) => name === schema)
        ? []
        : [
            {
              file: DIRECTIVE_FILE,
              line,
              message: `the schema ${shownName(schema)} is not in the bundle`,
              remedy: 'add the file, or mend its name',
            },
          ],
    ),
    ...stepFindings(directive, lineOf('steps'), files),
  ]
}

function stepFindings(
  { steps }: Directive,
  line: number | undefined,
  files: readonly FoundFile[],
): Finding[] {
  if (steps === directiveDefaults.steps) return [] // step definitions are not compulsory
  return steps.flatMap((glob) => {
    const problem = nameProblem(glob)
    if (problem === undefined && files.some(({ name }) => posix.matchesGlob(name, glob))) return []
    return [
      {
        file: DIRECTIVE_FILE,
        line,
        message: `steps has ${JSON.stringify(glob)}, and ${problem ?? 'no file of the bundle is named so'}`,
        remedy: 'name step definitions relative to the bundle, such as steps/**/*.ts',
      },
    ]
  })
}

async function featureFindings(
  directory: string,
  features: readonly FoundFile[],
): Promise<Finding[]> {
  if (features.length === 0 || features.length > FEATURES_MAX) return []
  const check = await featureChecker()
  const findings: Finding[] = []
  let scenarios = 0
  let lines = 0
  for (const { name, bytes } of features) {
    const content =
      bytes > FEATURE_BYTES_MAX ? undefined : utf8(await readFile(join(directory, name)))
    const linesHere = content?.split('\n').length ?? 0
    lines += linesHere
    if (bytes > FEATURE_BYTES_MAX) findings.push(tooMuch(name, bytes, 'bytes', FEATURE_BYTES_MAX))
    else if (content === undefined) findings.push(notText(name))
    else if (linesHere > FEATURE_LINES_MAX)
      findings.push(tooMuch(name, linesHere, 'lines', FEATURE_LINES_MAX))
    else if (lines > BUNDLE_LINES_MAX)
      return [...findings, tooMuch(FEATURES, lines, 'lines', BUNDLE_LINES_MAX)]
    else {
      const checked = check(name, content)
      findings.push(...checked.findings)
      scenarios += checked.scenarios
    }
  }
  if (findings.length === 0 && scenarios === 0)
    findings.push(about(FEATURES, 'there is no scenario in it', 'write a scenario'))
  return findings
}

/** A text without its byte order mark; undefined when it is none. */
function utf8(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function notText(file: string): Finding {
  return about(file, 'it is no UTF-8 text', 'save it as UTF-8')
}

function tooMuch(file: string, count: number, of: string, most: number): Finding {
  return about(file, `it has ${count} ${of}, and ${most} is the most`, 'make it smaller')
}

function about(file: string, message: string, remedy: string): Finding {
  return { file, line: undefined, message, remedy }
}
