if (page.kind === 'server') makeServer();
else if (page.kind === 'looked') makeLooked();
else makeProcess();
