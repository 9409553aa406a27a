// Two pages of plain files: nothing inline (the server's Content-Security-Policy has no exceptions),
// names of assets with a hash of their content (they are cached for ever).
import { defineConfig } from 'vite'

export default defineConfig({
  base: './',
  publicDir: false,
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: { input: ['index.html', 'live.html'] },
  },
  // `npm run dev` beside a running `ingot serve`.
  server: { proxy: { '/v1': 'http://127.0.0.1:8000', '/live.json': 'http://127.0.0.1:8000' } },
})
