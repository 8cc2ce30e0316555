import type { FromPageThread, ToPageThread } from '../../../../server/adapters/websearch/searxng/page-wire'

/** Stands in for the thread that reads pages: what a page says is what happens to it. */
declare const self: Worker

self.onmessage = ({ data: { id, task } }: MessageEvent<ToPageThread>) => {
  if (!('read' in task)) return
  const word = new TextDecoder().decode(task.read.fetched?.bytes)
  while (word === 'hang') Math.random()
  if (word === 'exit') process.exit(1)
  if (word === 'throw') tell({ id, problem: 'unreadable' })
  else
    tell({
      id,
      page: {
        adult: 0,
        page: {
          url: task.read.url,
          title: word,
          titleTokens: 1,
          hostname: '',
          siteName: '',
          description: '',
          published: null,
          fetchedAt: 0,
          favicon: null,
          thumbnail: null,
          passages: [],
          prior: 1,
        },
      },
    })
}
tell({ ready: true })

function tell(message: FromPageThread): void {
  self.postMessage(message)
}
