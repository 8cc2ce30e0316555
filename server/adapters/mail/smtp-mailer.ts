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
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text, headers: { ...headers } })
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
    return error instanceof Error ? error.message : String(error)
  } finally {
    transport.close()
  }
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
