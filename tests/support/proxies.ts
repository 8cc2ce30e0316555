import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The proxy files that we ship, run by the real proxies (`apt install nginx-light caddy`). */
const OPS = join(import.meta.dir, '../../ops')
export const HOST = 'api.example.com'

export interface Place {
  readonly folder: string
  readonly gatewayPort: string | number | undefined
  readonly port: number
  readonly plainPort: number
  /** Null serves plain HTTP. */
  readonly tls: { readonly certificate: string; readonly key: string } | null
}

/** The shipped file with our ports and certificate, and how its proxy starts. */
export const PROXIES = {
  async nginx({ folder, gatewayPort, port, plainPort, tls }: Place) {
    const shipped = await readFile(join(OPS, 'nginx.conf'), 'utf8')
    const site = shipped
      .replace('127.0.0.1:3000', `127.0.0.1:${gatewayPort}`)
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
  },
  async caddy({ folder, gatewayPort, port, plainPort, tls }: Place) {
    const shipped = await readFile(join(OPS, 'Caddyfile'), 'utf8')
    const site = shipped
      .replace('127.0.0.1:3000', `127.0.0.1:${gatewayPort}`)
      .replace(
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
  },
}

export type ProxyProcess = ReturnType<typeof startProxy>

export function startProxy(command: string[], folder: string) {
  return Bun.spawn(command, {
    ...{ stdout: 'ignore', stderr: 'ignore' },
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  })
}
