import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSmtpMailer } from '../../server/adapters/mail/smtp-mailer'
import { clientAddresses } from '../../server/compose/observing/client-addresses'
import { logSelfCheck, selfCheck } from '../../server/compose/self-check'
import { readConfig } from '../../server/config'
import { parseAddress, UNKNOWN_ADDRESS } from '../../server/core/credentials/address'
import { openLog } from '../../server/log'
import { openMailbox } from '../support/mailbox'
import { openStripeDouble, STRIPE_KEY, WEBHOOK_SECRET } from '../support/payments/stripe-double'

/** The report of a start in production to its operator. */
let folder = ''
let mailbox: Awaited<ReturnType<typeof openMailbox>>
const stripe = openStripeDouble()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-check-'))
  mailbox = await openMailbox()
})
afterAll(async () => {
  await mailbox.close()
  stripe.close()
  await rm(folder, { recursive: true, force: true })
})

const NOW = Date.UTC(2026, 10, 23)
const running = ({ hasOperator = true, backupWarning = null as string | null } = {}) => ({
  backupWarning: async () => backupWarning,
  now: () => NOW,
  lastTimes: async () => ({ entry: NOW - 60_000, audit: null }),
  needsOperator: async () => !hasOperator,
})
const PRODUCTION = { NODE_ENV: 'production', SEALING_KEYS: `k1:${'A'.repeat(43)}=`, SECRET_KEY: 'x'.repeat(32) }
const settings = (env: Record<string, string>) => readConfig({ ...PRODUCTION, DATA_DIR: folder, ...env }, {})

describe('the self-check of a start in production', () => {
  test('has nothing to say against a gateway that has everything, and asks the mail server and the processor', async () => {
    const config = {
      ...settings({
        BASE_URL: 'https://api.example.com',
        TRUSTED_PROXIES: '10.0.0.1',
        BACKUP_TO: join(folder, 'copies'),
        SMTP_URL: mailbox.url,
        MAIL_FROM: 'gateway@example.com',
      }),
      // A test key and http are refused in production.
      cards: { secretKey: STRIPE_KEY, webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url },
    }
    const found = await selfCheck(config, running())
    const problems = found.filter(({ check, problem }) => problem !== undefined && check !== 'disk')
    expect(problems).toEqual([])
    expect(found.map(({ check, state }) => [check, state?.slice(0, 40)])).toEqual([
      ['proxies', 'TRUSTED_PROXIES is set; the first request'.slice(0, 40)],
      ['mail', 'the mail server answers'],
      ['card processor', 'STRIPE_SECRET_KEY is accepted'],
      ['card webhooks', 'STRIPE_WEBHOOK_SECRET has the right form'],
      ['clock', '2026-11-23T00:00:00.000Z; the last entry is from 2026-11-22T23:59:00.000Z'.slice(0, 40)],
      ['disk', expect.anything()],
      ['operator', 'there is one'],
      ['sandbox', 'off'],
      ['backups', `every 24 h to ${join(folder, 'copies')}`.slice(0, 40)],
    ])
    const unwritable = running({ backupWarning: '/copies cannot be written: EROFS' })
    expect((await selfCheck({ ...config, mail: null, cards: null }, unwritable)).at(-1)).toEqual({
      check: 'backups',
      problem: 'no copies are made: /copies cannot be written: EROFS. Check BACKUP_TO',
    })
  })

  test('warns of each thing that is missing or wrong, once, and still looks at the others', async () => {
    const config = {
      ...settings({
        BASE_URL: 'https://api.example.com',
        SANDBOX_MODELS: 'true',
        SOCIAL_PROVIDER: 'sandbox',
        SMTP_URL: 'smtp://127.0.0.1:9',
        MAIL_FROM: 'gateway@example.com',
      }),
      cards: { secretKey: 'sk_live_wrong', webhookSecret: WEBHOOK_SECRET, apiUrl: stripe.url },
      dataDir: join(folder, 'missing'),
    }
    const lines: string[] = []
    await logSelfCheck(
      config,
      running({ hasOperator: false }),
      openLog('info', (line) => lines.push(line)),
    )
    const warned = lines.flatMap((line) => {
      const [, fields] = line.split(' warn self-check ')
      return fields === undefined ? [] : [JSON.parse(fields)]
    })
    expect(warned).toEqual([
      { check: 'proxies', problem: expect.stringContaining('TRUSTED_PROXIES is not set') },
      { check: 'mail', problem: expect.stringContaining('Check SMTP_URL') },
      { check: 'card processor', problem: expect.stringContaining('refuses STRIPE_SECRET_KEY') },
      { check: 'disk', problem: expect.stringContaining('ENOENT') },
      { check: 'operator', problem: expect.stringContaining('there is no operator') },
      { check: 'sandbox', problem: expect.stringContaining('SANDBOX_MODELS, SOCIAL_PROVIDER') },
      { check: 'backups', problem: expect.stringContaining('BACKUP_TO') },
    ])
    expect(lines.join('')).not.toContain('sk_live_wrong')
  })
})

describe('a mail server that cannot be used', () => {
  const PASSWORD = 'p4ss-that-nobody-may-read'
  const problemOf = async (url: string) => {
    const config = settings({ BASE_URL: 'https://api.example.com', SMTP_URL: url, MAIL_FROM: 'gateway@example.com' })
    return (await selfCheck(config, running())).find(({ check }) => check === 'mail')?.problem ?? ''
  }

  test('is named by a code, whatever it says: no password, no user, no URL', async () => {
    const parrot = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.write('220 parrot ESMTP\r\n')
      socket.on('data', (data) => {
        const line = data.toString().trim()
        if (line.startsWith('EHLO')) socket.write('250-parrot\r\n250 AUTH PLAIN LOGIN\r\n')
        // It repeats what was sent, decoded, as some servers do.
        else socket.write(`535 5.7.8 refused: ${line} ${atob(line.split(' ').at(-1) ?? '')}\r\n`)
      })
    })
    await new Promise<void>((resolve) => parrot.listen(0, '127.0.0.1', resolve))
    const address = parrot.address()
    const port = typeof address === 'object' ? address?.port : 0
    const url = `smtp://grace:${PASSWORD}@127.0.0.1:${port}`
    const refused = await problemOf(url)
    const sent = await openSmtpMailer({ url, from: 'gateway@example.com' })
      .send({ to: 'ada@example.com', subject: 'x', text: 'y' })
      .catch((error: unknown) => String(error))
    await new Promise<void>((resolve) => parrot.close(() => resolve()))
    expect(refused).toBe(
      'the mail server cannot be used: it refuses the user or the password (EAUTH, status 535). Check SMTP_URL',
    )
    expect(String(sent)).toContain('EAUTH, status 535')
    const away = await problemOf(`smtp://grace:${PASSWORD}@127.0.0.1:9`)
    const nowhere = await problemOf(`smtp://grace:${PASSWORD}@mail.invalid:25`)
    expect(away).toMatch(/ECONNREFUSED|ESOCKET|ECONNECTION/)
    for (const text of [refused, String(sent), away, nowhere])
      for (const secret of [PASSWORD, btoa(PASSWORD), 'grace', 'smtp://', 'parrot']) expect(text).not.toContain(secret)
  })
})

describe('the first request through a proxy', () => {
  const socket = parseAddress('10.0.0.1') ?? UNKNOWN_ADDRESS
  const stranger = parseAddress('192.0.2.9') ?? UNKNOWN_ADDRESS
  const forwarded = new Headers({ 'x-forwarded-for': '203.0.113.7' })
  const open = (env: Record<string, string>) => {
    const lines: string[] = []
    const read = clientAddresses(
      settings(env),
      openLog('info', (line) => lines.push(line.slice(25).trimEnd())),
    )
    return { lines, read }
  }

  test('is logged once with the address that it showed, and a stranger cannot take its place', () => {
    const { lines, read } = open({ TRUSTED_PROXIES: '10.0.0.1' })
    read(stranger, forwarded)
    read(socket, forwarded)
    read(socket, forwarded)
    expect(lines).toEqual(['info the first request through a proxy {"proxy":"10.0.0.1","caller":"203.0.113.7"}'])
  })

  test('is a warning while TRUSTED_PROXIES is not set', () => {
    const { lines, read } = open({})
    read(socket, new Headers())
    read(socket, forwarded)
    read(socket, forwarded)
    expect(lines).toEqual([expect.stringContaining('but TRUSTED_PROXIES is not set')])
  })
})
