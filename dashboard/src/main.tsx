import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/client/query-client.ts'
import { router } from './router.tsx'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root to mount on')

// The first render replaces the frame that the HTML has, so it waits for the page, or for what is wrong with it.
await router.load()
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
