/** The brokers a topic is reached through: `host:port`, with commas between several. */

const HOST = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const PORT_MAX = 65_535

/** The same list without blanks; undefined when one of them is no `host:port`. */
export function bootstrapServers(written: string): string | undefined {
  const servers = written.split(',').map((server) => server.trim())
  const areGood = servers.every((server) => {
    const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(server) ?? []
    return HOST.test(host) && Number(port) >= 1 && Number(port) <= PORT_MAX
  })
  return areGood ? servers.join(',') : undefined
}
