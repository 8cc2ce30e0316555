import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly to: string
  readonly text: string
}

/** A mail server on a free port that keeps what it takes; `refuse` makes it turn every message away. */
export async function openMailbox() {
  const received: ReceivedMail[] = []
  const waiting: ((mail: ReceivedMail) => void)[] = []
  let refuse = false
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (refuse) return callback(Object.assign(new Error('no room'), { responseCode: 452 }))
        const to = session.envelope.rcptTo[0]?.address ?? ''
        // Quoted-printable: lines are cut with a "=" at their end, and "=" itself is "=3D".
        const text = Buffer.concat(chunks)
          .toString()
          .replace(/=\r?\n/g, '')
          .replace(/=3D/g, '=')
        const mail = { to, text }
        const next = waiting.shift()
        if (next) next(mail)
        else received.push(mail)
        callback()
      })
    },
  })
  const port = await new Promise<number>((resolve) => {
    const listening = server.listen(0, '127.0.0.1', () => {
      const address = listening.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
  return {
    url: `smtp://127.0.0.1:${port}`,
    /** Mail that arrived and was not read. */
    received,
    /** The next mail, also when it has not come yet. */
    next: () => {
      const mail = received.shift()
      return mail ? Promise.resolve(mail) : new Promise<ReceivedMail>((resolve) => waiting.push(resolve))
    },
    refuse(yes: boolean) {
      refuse = yes
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
