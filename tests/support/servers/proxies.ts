import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { noteServer } from './running-servers'

/** The proxy files that we ship, run by the real proxies (`verify` unpacks them). */
const OPS = join(import.meta.dir, '../../../ops')
export const HOST = 'api.example.com'

export interface Place {
  readonly folder: string
  readonly gatewayPort: string | number | undefined
  readonly port: number
  readonly plainPort: number
  /** Null serves plain HTTP. */
  readonly tls: { readonly certificate: string; readonly key: string } | null
}

const shipped = (file: string) => readFile(join(OPS, file), 'utf8')

/** The shipped file with our ports and certificate, and how its proxy starts. */
export const PROXIES = {
  async nginx(place: Place) {
    return nginx((await shipped('nginx.conf')).replace('127.0.0.1:3000', `127.0.0.1:${place.gatewayPort}`), place)
  },
  async caddy(place: Place) {
    return caddy((await shipped('Caddyfile')).replace('127.0.0.1:3000', `127.0.0.1:${place.gatewayPort}`), place)
  },
}

async function nginx(file: string, { folder, port, plainPort, tls }: Place): Promise<string[]> {
  const site = file
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${port}${tls ? ' ssl http2' : ''};`)
    .replace('listen 80;', `listen 127.0.0.1:${plainPort};`)
    .replace(/ssl_certificate .*/, tls ? `ssl_certificate ${tls.certificate};` : '')
    .replace(/ssl_certificate_key .*/, tls ? `ssl_certificate_key ${tls.key};` : '')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {} http { access_log off; ${temporary.join(' ')}\n${site}}`,
  )
  return ['nginx', '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')]
}

async function caddy(file: string, { folder, port, plainPort, tls }: Place): Promise<string[]> {
  const site = file.replace(
    `${HOST} {`,
    tls
      ? `https://${HOST}:${port} {\n\tbind 127.0.0.1\n\ttls ${tls.certificate} ${tls.key}`
      : `http://${HOST}:${port} {\n\tbind 127.0.0.1`,
  )
  await writeFile(
    join(folder, 'Caddyfile'),
    `{\n\tadmin off\n\thttp_port ${plainPort}\n\tauto_https disable_redirects\n}\n${site}`,
  )
  return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
}

export type ProxyProcess = ReturnType<typeof startProxy>

export function startProxy(command: string[], folder: string) {
  const child = Bun.spawn(command, {
    stdout: 'ignore',
    stderr: 'ignore',
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  })
  noteServer(child)
  return child
}
