/** The program that the guide shows for Amazon's SDK runs as it is there, and so it does with the environment alone. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { codeBlocks } from '../../tools/docs.ts'
import { freshFolder, serving } from '../server/processes.ts'

const PAGE = 'docs/guides/queues.md'
const ADDRESS = 'http://127.0.0.1:8470'

test('the program of the guide sends and receives, and so it does told by its environment', async (t) => {
  const text = readFileSync(PAGE, 'utf8')
  const blocks = codeBlocks([{ path: PAGE, text }]).filter(({ code }) => code.includes('@aws-sdk'))
  assert.equal(blocks.length, 1)
  const { code } = blocks[0]!
  const url = await serving(t, '--data', join(freshFolder(t), 'data'), '--port', '0').url()

  assert.equal(await printed(code.replace(ADDRESS, url)), 'hello\n')
  const queues = await fetch(`${url}/queues`)
  assert.match(await queues.text(), /"region":"local","name":"mails"/)

  const untold = code.replace(/new SQSClient\(\{[^]*?\n\}\)/, 'new SQSClient()')
  assert.ok(!untold.includes('endpoint'))
  const environment = { AWS_ENDPOINT_URL: url, AWS_REGION: 'us-east-1' }
  const keys = { AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any' }
  assert.equal(await printed(untold, { ...environment, ...keys }), 'hello\n')
  const elsewhere = await fetch(`${url}/queues?region=us-east-1`)
  assert.match(await elsewhere.text(), /"region":"us-east-1","name":"mails"/)
})

async function printed(code: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const args = ['--input-type=module-typescript', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 150_000 })
  return stdout
}
