/** The parts of an address that image results repeat. `path` is for showing: the steps of the path after "›" signs. */
export function metaUrl(address: string): { scheme: string; netloc: string; hostname: string; path: string } {
  const url = new URL(address)
  const steps = url.pathname.split('/').filter((step) => step !== '')
  return {
    scheme: url.protocol.slice(0, -1),
    netloc: url.host,
    hostname: url.hostname,
    path: steps.map((step) => `› ${step}`).join(' '),
  }
}
