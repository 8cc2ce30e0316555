import { isoTime } from '../../../core/clock'
import type { Community, Message, Person, Post } from './community'
import { FAULTS, type Faults } from './faults'
import type { Grants } from './grants'
import { type Html, html, htmlPage } from './html'

const SHOWN = 50

const NAVIGATION = html`<nav aria-label="Sandbox network"><ul><li><a href="/sandbox/social">Timeline</a></li><li><a href="/sandbox/social/people">People</a></li></ul></nav>
<p class="notice">The sandbox network inside the gateway: made-up people, nothing leaves this machine. Everybody who can open this page sees everything on it.</p>`

/** The network as a person sees it, newest first. Caller content is escaped, and the page runs no scripts. */
export async function timelinePage(community: Community): Promise<Response> {
  const posts = await community.timeline(SHOWN)
  const follows = await community.follows(SHOWN)
  const shown =
    posts.length > 0
      ? posts.map(postCard)
      : [html`<p>Nobody has posted yet. Link an account and post through the gateway.</p>`]
  const lines = follows.map(
    ({ who, whom, pending }) => html`<li>@${who} ${pending ? 'asked to follow' : 'follows'} @${whom}</li>`,
  )
  return htmlPage(
    'Timeline',
    html`${NAVIGATION}<h1>Timeline</h1>${shown}<h2>Who follows whom</h2><ul>${lines.length > 0 ? lines : [html`<li>Nobody follows anybody yet.</li>`]}</ul>`,
  )
}

function postCard({ id, name, username, text, replyTo, quoteOf, at, likedBy }: Post): Html {
  const about = [replyTo && html` · replies to ${replyTo}`, quoteOf && html` · quotes ${quoteOf}`].filter(
    (part) => part !== null && part !== '',
  )
  const likes = likedBy.length === 0 ? 'No likes' : `Liked by ${likedBy.map((who) => `@${who}`).join(', ')}`
  return html`<article class="card" id="post-${id}"><p><strong>${name}</strong> <span class="muted">@${username} · ${time(at)} · post ${id}${about}</span></p><p class="text">${text}</p><p class="muted">${likes}</p></article>`
}

export async function peoplePage(community: Community): Promise<Response> {
  const people = await community.people()
  const cards = people.map(
    ({ id, name, username, description, followers, following }) =>
      html`<article class="card"><p><strong>${name}</strong> <span class="muted">@${username} · id ${id} · ${followers} followers · follows ${following}</span></p><p>${description}</p><p class="row"><a href="/sandbox/social/people/${username}">Apps and messages of @${username}</a></p></article>`,
  )
  return htmlPage('People', html`${NAVIGATION}<h1>People</h1>${cards}`)
}

/** A test user's settings: authorized apps, their messages, and the faults to produce next. */
export async function personPage(
  person: Person,
  parts: { community: Community; grants: Grants; faults: Faults },
): Promise<Response> {
  const grants = await parts.grants.of(person.id)
  const messages = await parts.community.messages(person.id, SHOWN, null, null)
  const fault = await parts.faults.of(person.id)
  const people = await parts.community.people()
  const apps = grants.map(
    ({ id, scopes, at }) =>
      html`<article class="card"><p><strong>This gateway</strong> <span class="muted">since ${time(at)}</span></p><p class="muted">${scopes.join(', ')}</p><form method="post"><input type="hidden" name="grant" value="${id}"><button name="do" value="withdraw">Withdraw access</button></form></article>`,
  )
  const options = Object.entries(FAULTS).map(([name, words]) => html`<option value="${name}">${words}</option>`)
  return htmlPage(
    `@${person.username}`,
    html`${NAVIGATION}<h1>${person.name} <span class="muted">@${person.username}</span></h1>
<h2>Connected apps</h2>${apps.length > 0 ? apps : [html`<p>No app has access.</p>`]}
<h2>Messages</h2>${messages.length > 0 ? messages.map((message) => messageCard(message, people)) : [html`<p>No messages.</p>`]}
<h2>Let something go wrong</h2><p>${fault ? `Now: ${FAULTS[fault.fault]}, ${fault.remaining} more.` : 'Nothing goes wrong now.'}</p>
<form method="post" class="row"><label>What <select name="fault">${options}</select></label><label>for <select name="times"><option>1</option><option>3</option><option>10</option><option value="0">no calls (end it)</option></select> calls</label><button name="do" value="fault">Let it go wrong</button></form>
<form method="post"><p><button name="do" value="expire">Let access tokens expire now</button></p></form>`,
  )
}

function messageCard({ sender, recipient, text, at }: Message, people: readonly Person[]): Html {
  const name = (id: string) => people.find((person) => person.id === id)?.username ?? id
  return html`<article class="card"><p class="muted">@${name(sender)} to @${name(recipient)} · ${time(at)}</p><p class="text">${text}</p></article>`
}

function time(at: number): Html {
  const text = isoTime(at)
  return html`<time datetime="${text}">${text.slice(0, 19).replace('T', ' ')} UTC</time>`
}
