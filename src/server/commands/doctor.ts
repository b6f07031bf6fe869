/**
 * `doctor`: looks at everything the server needs, says what is wrong, how sure that is and where, and what
 * to do about it. It changes nothing.
 */
import { resolve } from 'node:path'

import { describeDirectory } from '../../journal/index.ts'
import { Accident } from '../../std/index.ts'
import { MEMORY, type Config } from '../config-keys.ts'
import { loadConfig, type ConfigProblem, type ConfigSources } from '../config.ts'
import { readNote } from '../directory.ts'
import { checkLines, ok, skipped, trouble, type Check } from '../doctor/check.ts'
import {
  checkDamage,
  checkHolder,
  checkPermissions,
  checkSchema,
  checkSpace,
} from '../doctor/data.ts'
import { checkAddress, checkClock, checkNode } from '../doctor/machine.ts'
import { EXIT, type Io } from '../io.ts'

export async function doctor(sources: ConfigSources, json: boolean, io: Io): Promise<number> {
  const checks = await examine(sources, io)
  const isWell = checks.every(({ status }) => status !== 'trouble')
  if (json) io.out(`${JSON.stringify({ ok: isWell, checks }, undefined, 2)}\n`)
  else {
    const count = checks.filter(({ status }) => status === 'trouble').length
    const verdict = isWell ? 'all is well' : `${count} of ${checks.length} checks found trouble`
    io.out(`${[...checks.flatMap(checkLines), '', verdict].join('\n')}\n`)
  }
  return isWell ? EXIT.fine : EXIT.trouble
}

async function examine(sources: ConfigSources, io: Io): Promise<Check[]> {
  const node = checkNode(io.versions)
  try {
    const { config, places } = await loadConfig(sources)
    const given = `${places.size} settings are given, the rest are defaults`
    return [node, ok('config', given), ...(await examineWith(config, io))]
  } catch (error) {
    if (!(error instanceof Accident) || error.code !== 'bad-config') throw error
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what that fault carries
    const problems = error.detail['problems'] as readonly ConfigProblem[]
    const refused = problems.map(({ place, key, problem }) =>
      trouble('config', `${key}: ${problem}`, { where: place, advice: 'mend it there' }),
    )
    return [node, ...refused]
  }
}

async function examineWith(config: Config, io: Io): Promise<Check[]> {
  if (config['data.directory'] === MEMORY)
    return [
      checkClock(io.clock, undefined),
      await checkAddress(config, undefined, io),
      ok('data', 'nothing is kept: data.directory is memory'),
    ]
  const directory = resolve(io.directory, config['data.directory'])
  const permissions = checkPermissions(directory)
  if (permissions.status === 'trouble')
    return [permissions, await checkAddress(config, undefined, io)]
  const report = describeDirectory(directory)
  const server = readNote(directory, report.holder)
  const space = checkSpace(directory, report)
  const schema = checkSchema(directory, report)
  return [
    checkClock(io.clock, report.writtenAt),
    await checkAddress(config, server, io),
    permissions,
    space,
    await checkHolder(directory, report, server),
    schema,
    report.holder !== undefined
      ? skipped('damage', 'not looked for while somebody has the directory')
      : space.status === 'trouble'
        ? skipped('damage', 'not looked for without room to work in')
        : schema.status === 'trouble'
          ? skipped('damage', 'not looked for in data of a later version')
          : await checkDamage(directory, report, io),
  ]
}
