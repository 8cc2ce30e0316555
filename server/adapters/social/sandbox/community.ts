import { DAY_MS } from '../../../core/clock'
import type { TestPerson } from './people'
import type { Tables } from './tables'

export interface Person extends TestPerson {
  readonly createdAt: number
  readonly followers: number
  readonly following: number
  readonly posts: number
}

export interface Post {
  readonly id: string
  readonly author: string
  readonly username: string
  readonly name: string
  readonly text: string
  readonly replyTo: string | null
  readonly quoteOf: string | null
  readonly at: number
  readonly likedBy: readonly string[]
}

export interface Message {
  readonly id: string
  readonly conversation: string
  readonly sender: string
  readonly recipient: string
  readonly text: string
  readonly at: number
}

const PERSON = `SELECT u.*, (SELECT count(*) FROM follows WHERE target = u.id) AS followers,
  (SELECT count(*) FROM follows WHERE user = u.id) AS following,
  (SELECT count(*) FROM posts WHERE author = u.id) AS posts FROM users u`
const POST = `SELECT p.*, u.username, u.name,
  (SELECT group_concat(username) FROM (SELECT v.username FROM likes l JOIN users v ON v.id = l.user WHERE l.post = p.id ORDER BY l.at)) AS liked_by
  FROM posts p JOIN users u ON u.id = p.author`

/** A post with the same text as a recent one by the same author is a duplicate. */
const DUPLICATE_WITHIN_MS = DAY_MS

/** The people, posts and messages of the sandbox network. Following or liking twice changes nothing. */
export class Community {
  private readonly tables: Tables
  private readonly now: () => number

  constructor(tables: Tables, now: () => number) {
    this.tables = tables
    this.now = now
  }

  async people(): Promise<readonly Person[]> {
    return (await this.tables.all(`${PERSON} ORDER BY u.id`)).map(personOf)
  }

  async personById(id: string): Promise<Person | null> {
    const row = await this.tables.first(`${PERSON} WHERE u.id = ?`, id)
    return row && personOf(row)
  }

  async personByUsername(username: string): Promise<Person | null> {
    const row = await this.tables.first(`${PERSON} WHERE u.username = ?`, username)
    return row && personOf(row)
  }

  async follow(user: string, target: string): Promise<void> {
    await this.tables.change('INSERT INTO follows VALUES (?, ?, ?) ON CONFLICT DO NOTHING', user, target, this.now())
  }

  async unfollow(user: string, target: string): Promise<void> {
    await this.tables.change('DELETE FROM follows WHERE user = ? AND target = ?', user, target)
  }

  async like(user: string, post: string): Promise<void> {
    await this.tables.change('INSERT INTO likes VALUES (?, ?, ?) ON CONFLICT DO NOTHING', user, post, this.now())
  }

  async unlike(user: string, post: string): Promise<void> {
    await this.tables.change('DELETE FROM likes WHERE user = ? AND post = ?', user, post)
  }

  /** Null when the author posted the same text within the last day. */
  async post(author: string, text: string, replyTo: string | null, quoteOf: string | null): Promise<string | null> {
    const since = this.now() - DUPLICATE_WITHIN_MS
    const sql = 'SELECT 1 FROM posts WHERE author = ? AND text = ? AND reply_to IS ? AND quote_of IS ? AND at > ?'
    if (await this.tables.first(sql, author, text, replyTo, quoteOf, since)) return null
    const id = this.tables.newId()
    await this.tables.change(
      'INSERT INTO posts VALUES (?, ?, ?, ?, ?, ?)',
      id,
      author,
      text,
      replyTo,
      quoteOf,
      this.now(),
    )
    return id
  }

  async findPost(id: string): Promise<Post | null> {
    const row = await this.tables.first(`${POST} WHERE p.id = ?`, id)
    return row && postOf(row)
  }

  async timeline(max: number): Promise<readonly Post[]> {
    return (await this.tables.all(`${POST} ORDER BY p.id DESC LIMIT ?`, max)).map(postOf)
  }

  async remove(post: string): Promise<void> {
    await this.tables.change('DELETE FROM likes WHERE post = ?', post)
    await this.tables.change('DELETE FROM posts WHERE id = ?', post)
  }

  async follows(max: number): Promise<readonly { who: string; whom: string; pending: boolean }[]> {
    const rows = await this.tables.all(
      `SELECT a.username AS who, b.username AS whom, b.protected AS pending FROM follows f
       JOIN users a ON a.id = f.user JOIN users b ON b.id = f.target ORDER BY f.at DESC LIMIT ?`,
      max,
    )
    return rows.map(({ who, whom, pending }) => ({ who: String(who), whom: String(whom), pending: pending === 1 }))
  }

  async send(sender: string, recipient: string, text: string): Promise<Message> {
    const id = this.tables.newId()
    const conversation = [sender, recipient].sort().join('-')
    const at = this.now()
    await this.tables.change(
      'INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)',
      id,
      conversation,
      sender,
      recipient,
      text,
      at,
    )
    return { id, conversation, sender, recipient, text, at }
  }

  /** Newest first; optionally only those before a message, or only those with one person. */
  async messages(
    user: string,
    max: number,
    before: string | null,
    withUser: string | null,
  ): Promise<readonly Message[]> {
    const rows = await this.tables.all(
      `SELECT * FROM messages WHERE (sender = ?1 OR recipient = ?1) AND (?2 IS NULL OR id < ?2)
       AND (?3 IS NULL OR sender = ?3 OR recipient = ?3) ORDER BY id DESC LIMIT ?4`,
      user,
      before,
      withUser,
      max,
    )
    return rows.map(({ id, conversation, sender, recipient, text, at }) => ({
      id: String(id),
      conversation: String(conversation),
      sender: String(sender),
      recipient: String(recipient),
      text: String(text),
      at: Number(at),
    }))
  }
}

type Row = Awaited<ReturnType<Tables['all']>>[number]

function personOf(row: Row): Person {
  return {
    id: String(row['id']),
    username: String(row['username']),
    name: String(row['name']),
    description: String(row['description']),
    isProtected: row['protected'] === 1,
    takesMessages: row['takes_messages'] === 1,
    createdAt: Number(row['created_at']),
    followers: Number(row['followers']),
    following: Number(row['following']),
    posts: Number(row['posts']),
  }
}

function postOf(row: Row): Post {
  const liked = row['liked_by']
  return {
    id: String(row['id']),
    author: String(row['author']),
    username: String(row['username']),
    name: String(row['name']),
    text: String(row['text']),
    replyTo: row['reply_to'] === null ? null : String(row['reply_to']),
    quoteOf: row['quote_of'] === null ? null : String(row['quote_of']),
    at: Number(row['at']),
    likedBy: typeof liked === 'string' ? liked.split(',') : [],
  }
}
