if (page.kind === 'server') makeServer();
else makeProcess();
