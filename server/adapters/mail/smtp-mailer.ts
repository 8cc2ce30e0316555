import { createTransport } from 'nodemailer'
import type { Mailer } from '../../core/mail/mailer'

const PATIENCE_MS = 15_000

export interface SmtpSettings {
  /** `smtp://` (with STARTTLS if the server supports it) or `smtps://`, with user and password if required. */
  readonly url: string
  readonly from: string
}

/** Mail over SMTP, one connection per message: this service sends few. */
export function openSmtpMailer({ url, from }: SmtpSettings): Mailer {
  const transport = transportTo(url)
  return {
    async send({ to, subject, text, headers = {} }) {
      try {
        await transport.sendMail({ from, to: { name: '', address: to }, subject, text, headers: { ...headers } })
      } catch (error) {
        throw new Error(problemOf(error))
      }
    },
  }
}

/** Why no mail can be sent now; null if the server answers and accepts the password. Sends nothing. */
export async function smtpProblem({ url }: SmtpSettings): Promise<string | null> {
  const transport = transportTo(url)
  try {
    await transport.verify()
    return null
  } catch (error) {
    return problemOf(error)
  } finally {
    transport.close()
  }
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EAUTH: 'it refuses the user or the password',
  ENOAUTH: 'it asks for a user and a password',
  EDNS: 'its name cannot be resolved',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  ECONNREFUSED: 'it refuses the connection',
  ECONNRESET: 'it closed the connection',
  ECONNECTION: 'it closed the connection',
  ESOCKET: 'the connection failed',
  ETIMEDOUT: 'it did not answer in time',
  ETLS: 'TLS failed',
  EPROTOCOL: 'it does not speak SMTP',
  EENVELOPE: 'it refuses the sender or the recipient',
  EMESSAGE: 'it refuses the message',
  ESTREAM: 'it refuses the message',
}

/**
 * The message of a mail server or the library is not passed on: it can repeat the password, the address of a person or SMTP_URL. Codes and the
 * status of the response say enough.
 */
function problemOf(error: unknown): string {
  const { code, responseCode, errno, syscall } = (error ?? {}) as Readonly<Record<string, unknown>>
  const known = [code, errno].find((one) => typeof one === 'string' && Object.hasOwn(PROBLEMS, one))
  const text = PROBLEMS[String(known)] ?? 'it failed'
  const status = Number.isInteger(responseCode) ? `status ${responseCode}` : null
  const call = syscall === 'connect' || syscall === 'getaddrinfo' ? syscall : null
  const more = [known ?? null, call, status].filter((one) => one !== null)
  return more.length === 0 ? text : `${text} (${more.join(', ')})`
}

function transportTo(url: string) {
  return createTransport({
    url,
    connectionTimeout: PATIENCE_MS,
    greetingTimeout: PATIENCE_MS,
    socketTimeout: PATIENCE_MS,
    // Message content comes from owners, so it must never make the mailer read a file or a URL.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}
