/**
 * A release, every step of it: the tree is clean, the changelog names the version, everything
 * passes, the build stands, the tag is set. Publishing is one command and a person's decision.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

import { succeeds } from './command.ts'

const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'))
const changelog = readFileSync('CHANGELOG.md', 'utf8')
const changes = execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' })

if (changes !== '') refuse('there are changes that are not committed')
if (!changelog.includes(`\n## ${version} `)) refuse(`CHANGELOG.md has no section '## ${version} '`)
if (!(await succeeds('npm', ['test']))) refuse('the tests fail')
if (!(await succeeds('npm', ['run', 'build']))) refuse('the build fails')
execFileSync('git', ['tag', '--annotate', `v${version}`, '--message', `v${version}`])
console.log(`v${version} is built and tagged; \`npm publish\` and \`git push --tags\` are yours.`)

function refuse(reason: string): never {
  console.error(`no release: ${reason}`)
  process.exit(1)
}
