/** The thread behind `reports.ts`. */
import { createReadStream, createWriteStream, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'
import { workerData } from 'node:worker_threads'

import { PRODUCT } from '../../std/index.ts'
import { cucumberJson } from './cucumber-json.ts'
import { junitXml } from './junit.ts'
import { MESSAGES_FILE } from './recording.ts'
import type { ReportsJob } from './reports.ts'
import { StoryTeller } from './story.ts'

type HtmlFormatter = Readonly<{ CucumberHtmlStream: new () => Transform }>

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `reports.ts` gives
const { directory, failure } = workerData as ReportsJob

const teller = new StoryTeller()
for await (const envelope of messages()) teller.add(envelope)
const story = teller.story()
writeFileSync(join(directory, 'cucumber.json'), cucumberJson(story))
writeFileSync(join(directory, 'junit.xml'), junitXml(story, { name: PRODUCT, failure }))

// The formatter is a package of Cucumber's, and found where Cucumber finds it.
const cucumber = createRequire(createRequire(import.meta.url).resolve('@cucumber/cucumber'))
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what that package exports
const { CucumberHtmlStream } = (await import(
  pathToFileURL(cucumber.resolve('@cucumber/html-formatter')).href
)) as HtmlFormatter
await pipeline(
  Readable.from(messages()),
  new CucumberHtmlStream(),
  createWriteStream(join(directory, 'report.html')),
)

/** A last line that was not written to its end is left out. */
async function* messages(): AsyncGenerator<Record<string, unknown>> {
  const lines = createInterface({ input: createReadStream(join(directory, MESSAGES_FILE)) })
  for await (const line of lines) {
    try {
      yield JSON.parse(line)
    } catch {
      return
    }
  }
}
