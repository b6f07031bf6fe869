/**
 * Stands before every script of this repository (`node --import`) and refuses an old Node with a
 * sentence that helps. It is JavaScript because the Node that needs the sentence cannot read
 * TypeScript.
 */
const NEEDED = [24, 12]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(
    `Node ${NEEDED.join('.')} or newer is needed, this is ${process.versions.node}.\n` +
      'The project brings its own: run `npm ci`, then use the npm scripts (`npm start`, `npm test`).\n' +
      'If that did not help, npm was told to skip install scripts: run `npm rebuild node`.\n',
  )
  process.exit(1)
}
