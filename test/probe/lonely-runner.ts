/** A runner in a process of its own, to be killed while a step of its run loops. */
import { start, type Scratch } from './running.ts'

const scratch: Pick<Scratch, 'path'> = { path: process.argv[2]! }
start(scratch as Scratch, {
  files: {
    'features/one.feature': 'Feature: one\n  Scenario: only\n    Given it loops\n',
    'steps/one.js': `
import { Given } from '@cucumber/cucumber'
Given('it loops', async () => {
  console.log('pid', process.pid)
  await new Promise((resolve) => setTimeout(resolve, 100))
  for (;;);
})`,
  },
  onLine: (line) => process.stdout.write(`${line}\n`),
})
